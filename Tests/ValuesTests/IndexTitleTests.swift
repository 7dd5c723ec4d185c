import FetchIndexTestSupport
import Testing

@testable import FetchIndexValues

@Suite struct IndexTitleTests {
    private func title(_ text: String, _ titles: IndexTitles) throws -> String {
        let utf8 = Array(text.utf8)
        return String(decoding: try titles.title(of: utf8.span.bytes), as: UTF8.self)
    }

    @Test(arguments: [
        ("en", "A", ["apple", "Apple", "Été"], ["A", "A", "E"]),
        ("en", "ASCII", ["zebra", "1984", "", " x", "-x", "😀", "ß", "ﬁn"], ["Z", "#", "#", "#", "#", "#", "S", "F"]),
        ("en", "other scripts", ["かがみ", "漢字", "Ωμέγα", "Яблоко", "한국"], ["#", "#", "#", "#", "#"]),
        ("sv", "letters of its own", ["Åland", "ärla", "öl", "ola", "A\u{30A}"], ["Å", "Ä", "Ö", "O", "Å"]),
        ("de", "no letters of its own", ["Åland", "ärla", "öl", "Straße"], ["A", "A", "O", "S"]),
        ("cs", "CH after H", ["chata", "cena", "člen", "hora", "Chléb"], ["CH", "C", "Č", "H", "CH"]),
        ("ru", "both scripts", ["яблоко", "Ёж", "apple", "かがみ"], ["Я", "Е", "A", "#"]),
        ("el", "both scripts", ["Ωμέγα", "άλφα", "zebra", "ё"], ["Ω", "Α", "Z", "#"]),
        (
            "ja", "kana", ["あ", "ぁ", "ア", "ｱ", "かき", "ガ", "ｶﾞ", "ヴ", "ん", "ゎ"],
            ["あ", "あ", "あ", "あ", "か", "か", "か", "あ", "わ", "わ"]
        ),
        ("ja", "rows", ["さ", "ち", "ぬ", "ぱ", "ポ", "も", "よ", "れ", "を"], ["さ", "た", "な", "は", "は", "ま", "や", "ら", "わ"]),
        (
            "ja", "else", ["漢字", "apple", "Ａ", "３", "7", "", "🍣", "ё", "。"],
            ["#", "A", "A", "#", "#", "#", "#", "#", "#"]
        ),
        ("zh", "pinyin", ["漢字", "北京", "apple"], ["H", "B", "A"]),
        ("ko", "hangul", ["한국", "김", "apple"], ["ㅎ", "ㄱ", "A"]),
    ]) func aTextHasTheIndexTitleOfItsFirstLetter(locale: String, what: String, texts: [String], expected: [String])
        throws
    {
        let titles = try IndexTitles(locale)
        let found = try texts.map { try title($0, titles) }
        #expect(found == expected, "\(locale): \(what)")
    }

    /// Some of these locales have letters of several characters, for example cs, hu, cy, hr, da and sq.
    static let locales = [
        "en", "ja", "cs", "hu", "cy", "hr", "da", "sv", "de", "de@collation=phonebook", "th", "zh", "zh_TW", "ko", "ru",
        "el", "tr", "vi", "sk", "sq", "lv", "lt", "et", "fi", "es@collation=traditional", "und", "nl", "az", "pl",
    ]

    @Test(arguments: locales) func theFastPathGivesTheIndexTitlesOfICU(locale: String) throws {
        var generator = SeededGenerator(seed: 31)
        let (plain, quick) = (try IndexTitles(locale), try IndexTitles(locale))
        _ = try title("", quick)
        quick.makeShortcut()
        // The ends include parts of letters of several characters, and marks that may follow a letter.
        let ends = ["", "s", "\u{30A}", "\u{301}x", "é", "か", "zs", "\u{0}", " "]
        for _ in 0..<3000 {
            let isLetters = Bool.random(using: &generator)
            let letters = (0..<Int.random(in: 0...4, using: &generator)).map { _ in
                Unicode.Scalar(
                    isLetters ? UInt8.random(in: 97...122, using: &generator) : .random(in: 0...127, using: &generator))
            }
            var text = ""
            text.unicodeScalars.append(contentsOf: letters)
            if Bool.random(using: &generator) { text = text.uppercased() }
            text += ends.randomElement(using: &generator) ?? ""
            #expect(try title(text, quick) == title(text, plain), "\(locale): \(text.debugDescription), seed 31")
        }
        // Many texts of two ASCII characters are compared too, including all pairs of letters.
        for first in UInt8(0)...127 {
            for second in UInt8(0)...127 where first % 3 == 0 || second % 5 == 0 || first > 64 && second > 64 {
                let text = String(decoding: [first, second], as: UTF8.self)
                let (found, expected) = (try title(text, quick), try title(text, plain))
                if found != expected { Issue.record("\(locale): \(text.debugDescription): \(found), not \(expected)") }
            }
        }
    }

    @Test func theFastPathOmitsLettersThatMayBeginALongerLetter() throws {
        func lettersWithout(_ locale: String) throws -> String {
            let titles = try IndexTitles(locale)
            _ = try title("", titles)
            titles.makeShortcut()
            return String(
                decoding: (97...122 as ClosedRange<UInt8>).filter { !titles.isInShortcut($0) }, as: UTF8.self)
        }
        #expect(try lettersWithout("en") == "")
        #expect(try lettersWithout("ja") == "")
        #expect(try lettersWithout("sv") == "")
        #expect(try lettersWithout("cs") == "c")
        #expect(try lettersWithout("hr") == "dln")
        #expect(try lettersWithout("hu").contains("d"))
    }

    @Test func anUnknownLocaleIsRefused() throws {
        for locale in ["xx", "japanese", "", "jp", "ja JP", "C", "tlh"] {
            #expect(throws: UnknownLocale(locale: locale)) { try IndexTitles(locale) }
            #expect(throws: UnknownLocale(locale: locale)) { try TextCollator(.localized(locale)) }
            #expect(throws: UnknownLocale(locale: locale)) { try TextCollator(.localizedStandard(locale)) }
        }
        for locale in ["ja", "en_GB", "en-GB", "de-u-co-phonebk", "zh_TW", "und", "root", "no", "sa", "en_ZZ"] {
            #expect(throws: Never.self) { try IndexTitles(locale) }
            #expect(throws: Never.self) { try TextCollator(.localized(locale)) }
        }
        let versions = try IndexTitles("ja").versions
        #expect(versions.contains { $0.contains("collator") })
        #expect(versions.contains { $0.hasPrefix("CLDR ") })
    }
}
