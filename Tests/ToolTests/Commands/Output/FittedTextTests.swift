import FetchIndexTestSupport
import Testing

@testable import FetchIndexInspection

@Suite struct FittedTextTests {
    private static let pieces = [
        "a", "Z", " ", "~", "é", "ß", "虐", "殺", "ア", "が", "「", "！", "…", "e\u{301}", "か\u{3099}", "👩‍🚀", "한", "\u{AD}",
        "\u{200B}",
        "\u{7}", "\u{85}", "\r\n", "𠮷",
    ]

    /// `FittedText` cuts bytes at the same places at which `fitted(to:)` cuts characters.
    @Test func cuttingBytesAgreesWithCuttingCharacters() {
        var generator = SeededGenerator(seed: 3)
        for round in 0..<4_000 {
            // Half of the texts have no joining characters.
            let most = round.isMultiple(of: 2) ? 13 : Self.pieces.count
            let text = (0..<Int.random(in: 0..<30, using: &generator)).map { _ in
                Self.pieces[Int.random(in: 0..<most, using: &generator)]
            }.joined()
            let width = Int.random(in: 1..<40, using: &generator)
            let fitted = Array(text.utf8).withUnsafeBytes { FittedText($0, width: width) }
            let expected = text.fitted(to: width)
            #expect(String(decoding: fitted.bytes, as: UTF8.self) == expected, "\(text.debugDescription) to \(width)")
            #expect(fitted.width == expected.displayWidth, "\(text.debugDescription) to \(width)")
        }
    }

    @Test func invalidUTF8IsShownAsValidText() {
        for bytes: [UInt8] in [[0xC3], [0xE3, 0x81], [0xFF, 0x41], [0xC3, 0x28]] {
            let fitted = bytes.withUnsafeBytes { FittedText($0, width: 10) }
            #expect(String(validating: fitted.bytes, as: UTF8.self) != nil, "\(bytes)")
        }
    }

    /// The check of a text's bytes notices each control and hidden character. The tried texts of letters and emoji are
    /// printed unchanged.
    @Test func eachHiddenCharacterIsFoundByItsBytes() {
        for value in (0...0x10FFFF as ClosedRange<UInt32>).compactMap(Unicode.Scalar.init) {
            let text = "a\(value)"
            guard value.isControl || value.isHidden(after: "a") else { continue }
            #expect(Array(text.utf8).withUnsafeBytes(HiddenCharacters.mayBeIn), "\(value.value)")
            #expect(text.visible != text && (value == "\n" || text.withControlsEscaped != text), "\(value.value)")
        }
        for text in ["abc é ß", "“quoted” – …", "虐殺器官 ひらがな カタカナ", "한국어", "👍🏽 ❤️ 🇯🇵", "ភាសាខ្មែរ", "नमस्ते"] {
            #expect(text.visible == text && text.withBlankControls == text, "\(text)")
        }
        for text in [
            "नि\u{200D}", "क्\u{200D}ष", "می\u{200C}شود", "👩\u{200D}❤\u{FE0F}\u{200D}💋\u{200D}👨",
            "🏴\u{E0067}\u{E0062}\u{E007F}",
        ] {
            #expect(text.visible == text, "\(text)")
        }
        #expect("pay\u{200D}pal".visible == "pay\u{FFFD}pal" && "نا\u{200D}\u{200D}".visible == "نا\u{200D}\u{FFFD}")
        #expect("x\u{E0041}".withControlsEscaped == "x\\udb40\\udc41")
    }
}
