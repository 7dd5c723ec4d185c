import Foundation
import FetchIndexTestSupport
import Testing

@testable import FetchIndexValues

@Suite struct ValueTests {
    @Test func decimalsAndDoublesCompareExactly() {
        let tiny = Value.double(1e-200)
        #expect(Value.decimal(0).compare(to: tiny) == .ascending)
        #expect(Value.decimal(1).compare(to: tiny) == .descending)
        #expect(Value.decimal(-1).compare(to: tiny) == .ascending)
        #expect(Value.decimal(0).compare(to: .double(-1e-200)) == .descending)
        #expect(Value.decimal(0.1).compare(to: .double(0.1)) == .same)
        #expect(Value.decimal(.nan).compare(to: .decimal(.nan)) == nil)
        let notADate = Value.date(Date(timeIntervalSinceReferenceDate: .nan))
        #expect(notADate.compare(to: notADate) == nil)
        #expect(notADate == notADate)
    }

    @Test func integersAndDoublesCompareExactly() {
        let big = Int64(1) << 53 + 1
        #expect(Value.integer(big).compare(to: .double(9_007_199_254_740_992)) == .descending)
        #expect(Value.integer(.max).compare(to: .double(9.223372036854775807e18)) == .ascending)
        #expect(Value.integer(.min).compare(to: .double(-9.223372036854775808e18)) == .same)
        #expect(Value.double(0.5).compare(to: .integer(0)) == .descending)
        #expect(Value.double(-0.5).compare(to: .integer(0)) == .ascending)
        #expect(Value.double(.nan).compare(to: .integer(0)) == nil)
        #expect(Value.decimal(Decimal(string: "0.1") ?? 0).compare(to: .double(0.1)) == .same)
        #expect(Value.boolean(true).compare(to: .integer(1)) == .same)
        #expect(Value.string("1").compare(to: .integer(1)) == nil)
    }

    @Test func textsCompareByCodePointNotByCanonicalEquivalence() {
        #expect(Value.string("e\u{301}").compare(to: .string("é")) == .ascending)
        #expect(Value.string("Z").compare(to: .string("a")) == .ascending)
        #expect(Value.string("\u{FFFF}").compare(to: .string("𠮷")) == .ascending)
    }

    @Test(arguments: [
        ("583", ValueType.integer, "583"), ("-9223372036854775808", .integer, "-9223372036854775808"),
        ("20.20", .double, "20.2"), ("1e21", .double, "1000000000000000000000"), ("100", .double, "100"),
        ("12.340", .decimal, "12.34"), ("yes", .boolean, "1"), ("0", .boolean, "0"),
        ("2016-05-16T10:30:00+09:00", .date, "2016-05-16T01:30:00Z"), ("2016-05-16", .date, "2016-05-16T00:00:00Z"),
        ("2016-05-16T01:30:00", .date, "2016-05-16T01:30:00Z"),
        ("2016-05-16T01:30:00.250Z", .date, "2016-05-16T01:30:00.250Z"),
        ("00ff", .data, "00ff"), ("虐殺器官", .string, "虐殺器官"), ("https://a.b/c", .url, "https://a.b/c"),
    ]) func aTextReadsAsItsType(text: String, type: ValueType, printed: String) throws {
        let value = try #require(Value(text, as: type))
        #expect(value.type == type)
        #expect(value.description == printed)
    }

    @Test(arguments: [
        ("12a", ValueType.integer), ("9223372036854775808", .integer), ("", .integer), (" 1", .integer),
        ("inf", .double), ("1,5", .double), ("x", .decimal), ("1x", .decimal), ("maybe", .boolean),
        ("2016-13-01", .date), ("abc", .data), ("--5", .decimal), ("1-", .decimal), (".", .decimal), ("5-3", .decimal),
        ("1e", .decimal), ("", .decimal),
        ("not-a-uuid", .uuid), ("", .url),
    ]) func aTextThatIsNoValueGivesNil(text: String, type: ValueType) {
        #expect(Value(text, as: type) == nil)
    }

    @Test func foldingDropsCaseAndLatinAccentsButKeepsVoicedKana() {
        let both: TextFolding = [.caseInsensitive, .diacriticInsensitive]
        func alike(_ left: String, _ right: String, _ folding: TextFolding) -> Bool {
            folding.fold(left) == folding.fold(right)
        }
        #expect(alike("STRASSE", "straße", .caseInsensitive))
        #expect(alike("É", "é", .caseInsensitive))
        #expect(!alike("É", "e", .caseInsensitive))
        #expect(alike("Été", "Ete", .diacriticInsensitive))
        #expect(!alike("Été", "ete", .diacriticInsensitive))
        #expect(alike("ÉTÉ", "ete", both))
        #expect(alike("Й", "и", both))
        #expect(alike("Ώ", "ω", both))
        #expect(!alike("か", "が", both))
        #expect(!alike("ハ", "パ", both))
        #expect(alike("e\u{301}", "é", .caseInsensitive))
    }

    @Test func collationOrdersAsReadersExpect() throws {
        func sorted(_ texts: [String], _ order: TextOrder) throws -> [String] {
            let collator = try #require(try TextCollator(order))
            return texts.map { text in
                var bytes: [UInt8] = []
                let utf8 = Array(text.utf8)
                collator.withSortKey(of: utf8.span.bytes) { bytes = $0.withUnsafeBytes { [UInt8]($0) } }
                return (text, bytes)
            }.sorted { $0.1.lexicographicallyPrecedes($1.1) }.map(\.0)
        }
        #expect(try sorted(["file10", "File2", "file1"], .localizedStandard("en")) == ["file1", "File2", "file10"])
        #expect(try sorted(["b", "A", "a", "B"], .localized("en")) == ["a", "A", "b", "B"])
        #expect(try sorted(["zebra", "öl", "apfel"], .localized("sv")) == ["apfel", "zebra", "öl"])
        #expect(try sorted(["zebra", "öl", "apfel"], .localized("de")) == ["apfel", "öl", "zebra"])
        #expect(try sorted(["さくら", "かえで", "がく"], .localized("ja")) == ["かえで", "がく", "さくら"])
        #expect(try TextCollator(.binary) == nil)
        #expect(try TextCollator(.localized("ja"))?.version.hasPrefix("ICU ") == true)
    }

    @Test func textOrdersReadBackFromTheirNames() {
        for order in [
            TextOrder.binary, .caseInsensitive, .diacriticInsensitive, .caseDiacriticInsensitive, .localized("ja"),
            .localizedStandard("en_GB"),
        ] {
            #expect(TextOrder(name: order.name) == order)
        }
        #expect(TextOrder(name: "localized") == nil)
        #expect(TextOrder(name: "localized=") == nil)
        #expect(TextOrder(name: "loud") == nil)
    }

    @Test func daysAgreeWithFoundationsCalendarInEveryZone() throws {
        var generator = SeededGenerator(seed: 11)
        for name in [
            "UTC", "Asia/Tokyo", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/St_Johns",
        ] {
            var calendar = Calendar(identifier: .gregorian)
            calendar.timeZone = try #require(TimeZone(identifier: name))
            let zone = try TimeZoneOffsets(name)
            for _ in 0..<3000 {
                let date = Date(timeIntervalSince1970: .random(in: -1e9...1.9e9, using: &generator).rounded())
                let parts = calendar.dateComponents([.year, .month, .day], from: date)
                let day = CalendarDay(daysSince1970: zone.day(of: date.timeIntervalSinceReferenceDate))
                #expect(day.year == parts.year, "\(name) at \(date)")
                #expect(day.month == parts.month, "\(name) at \(date)")
                #expect(day.day == parts.day, "\(name) at \(date)")
            }
        }
        #expect(throws: UnknownTimeZone.self) { try TimeZoneOffsets("Mars/Olympus") }
    }
}

@Suite struct DateTextTests {
    @Test(
        arguments: [
            ("2001-01-01T00:00:00Z", 0), ("2016-05-16T09:30:00Z", 485_083_800),
            ("1999-12-31T23:59:59.500Z", -31_622_400.5),
            ("1582-10-14T00:00:00Z", -13_197_686_400), ("1000-03-01T00:00:00Z", -31_583_433_600),
            ("0000-01-01T00:00:00Z", -63_145_526_400), ("9999-12-31T23:59:59Z", 252_423_993_599),
        ] as [(String, Double)]) func datesAreGregorianThroughout(text: String, seconds: Double)
    {
        #expect(Value.date(Date(timeIntervalSinceReferenceDate: seconds)).description == text)
        #expect(Value(text, as: .date) == .date(Date(timeIntervalSinceReferenceDate: seconds)))
    }

    @Test(arguments: [
        "2016-02-30", "2016-13-01", "2016-5-16", "2016-05-16x", "2016-05-16T25:00:00Z", "16-05-2016", "", "2016-05",
        "2016-05-16\u{301}", "2016-05-16T", "２０１６-05-16", "+016-05-16",
    ]) func whatIsNoDayIsNoDate(text: String) {
        #expect(Value(text, as: .date) == nil)
    }

    @Test func daysTimesAndOffsetsAreRead() {
        let midnight = Value("2016-05-16T00:00:00Z", as: .date)
        #expect(midnight != nil)
        for text in ["2016-05-16", "2016-05-16T00:00:00", "2016-05-16T09:00:00+09:00", "2016-05-15T19:00:00-0500"] {
            #expect(Value(text, as: .date) == midnight, "\(text)")
        }
    }

    @Test(arguments: [
        ("2024-01-02 03:04:05", "2024-01-02T03:04:05Z"), ("2024-01-02 03:04:05,25", "2024-01-02T03:04:05.250Z"),
        ("2024-01-02T03:04:05.25+09", "2024-01-01T18:04:05.250Z"),
        ("2024-01-02 03:04:05 +0900", "2024-01-01T18:04:05Z"),
        ("2023-12-31T23:59:59.999999999Z", "2023-12-31T23:59:59.999Z"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999Z"),
        ("9999-12-31T23:59:59.9999999999999999999Z", "9999-12-31T23:59:59.999Z"),
        ("2024-02-29T23:59:59.9996Z", "2024-02-29T23:59:59.999Z"),
    ]) func datesAreExactOrCutOff(text: String, printed: String) {
        #expect(Value(text, as: .date)?.description == printed)
    }

    @Test(arguments: [
        "2024-01-02T03:04:05.", "2024-01-02T03:04:05.5.5", "2024-01-02  03:04:05", "2024-01-02T03:04:05+25:00",
        "2024-01-02T03:04:05+09:60", "2024-01-02T03:04:05Z ",
    ])
    func whatIsNoTimeIsNoDate(text: String) {
        #expect(Value(text, as: .date) == nil)
    }

    /// What is printed is never later than the text that was read, with all digits and with milliseconds.
    @Test(arguments: 1...5) func fractionsAreNeverRoundedUp(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<3000 {
            let year = Int.random(in: 1000...9999, using: &generator)
            let places = Int.random(in: 1...11, using: &generator)
            let digits = (0..<places).map { _ in
                Bool.random(using: &generator) ? "9" : "\(Int.random(in: 0...9, using: &generator))"
            }
            let text = "\(year)-12-31T23:59:59.\(digits.joined())"
            let date = try #require(Date(iso8601: text + "Z"))
            for printed in [date.exactText, date.iso8601] {
                // As texts they have the order of time.
                #expect(
                    String(printed.dropLast()).trimmingSuffix { $0 == "0" } <= text,
                    "seed \(seed): \(text) as \(printed)")
            }
            #expect(Date(exactText: date.exactText) == date, "seed \(seed): \(text) as \(date.exactText)")
            // Milliseconds are distinguished in all years of four digits.
            let shown = text.trimmingSuffix { $0 == "0" }.trimmingSuffix { $0 == "." }
            if places <= 3 { #expect(date.iso8601.hasPrefix(shown), "seed \(seed): \(text) as \(date.iso8601)") }
        }
    }

    @Test(arguments: 1...5) func exactTextsAreReadBack(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<3000 {
            let ranges: [Double] = [1, 1e6, 1e9, 6e10]
            let range = ranges[Int.random(in: 0..<4, using: &generator)]
            let date = Date(timeIntervalSinceReferenceDate: .random(in: -range...range * 4, using: &generator))
            #expect(Date(exactText: date.exactText) == date, "seed \(seed): \(date.timeIntervalSinceReferenceDate)")
        }
    }

    /// For thousandths of a second, and at the ends of days and years, reading gives what was written.
    @Test(arguments: 1...5) func writingAndReadingAreInverse(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            let milliseconds = Int64.random(in: -62_000_000_000_000...250_000_000_000_000, using: &generator)
            let date = Date(timeIntervalSinceReferenceDate: Double(milliseconds) / 1000)
            #expect(Value(Value.date(date).description, as: .date) == .date(date), "seed \(seed): \(milliseconds)")
        }
    }
}

@Suite struct PlainTextTests {
    /// What is folded on the stack is what ICU folds, scalar by scalar and in pairs.
    @Test func plainTextFoldsAsAllText() {
        let foldings: [TextFolding] = [
            .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive],
        ]
        let scalars = (UInt32(0)...0xFFFF).compactMap(Unicode.Scalar.init)
        var plainCount = 0
        for scalar in scalars {
            for text in ["\(scalar)", "か\(scalar)A", "\(scalar)\u{3099}"] {
                let bytes = Array(text.utf8)
                guard bytes.withUnsafeBytes({ $0.isPlainText }) else { continue }
                plainCount += 1
                #expect(text.count == text.unicodeScalars.count, "\(scalar.value)")
                for folding in foldings {
                    let folded = folding.fold(text)
                    let matches = bytes.withUnsafeBytes { bytes in
                        folding.withFolded(bytes.bytes) { found in
                            found.withUnsafeBytes { $0.elementsEqual(folded) }
                        }
                    }
                    #expect(matches, "U+\(String(scalar.value, radix: 16)) in \(text)")
                }
            }
        }
        #expect(plainCount > 50_000)
    }
}

@Suite struct NumberTextTests {
    private func number<Result>(_ text: String, _ body: (NumberText) -> Result) -> Result? {
        var text = text
        return text.withUTF8 { NumberText(UnsafeRawBufferPointer($0)).map(body) }
    }

    private func plain(_ text: String) -> String? {
        number(text) {
            var bytes: [UInt8] = []
            $0.appendPlain(to: &bytes)
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    /// Foundation's decimal is the judge: what is called exact is read back with all digits.
    @Test(arguments: 1...5) func exactDecimalsPrintAsFoundationPrintsThem(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<2000 {
            var digits = (0..<Int.random(in: 1...38, using: &generator)).map { _ in
                "\(Int.random(in: 0...9, using: &generator))"
            }
            if Bool.random(using: &generator) {
                digits.insert(".", at: Int.random(in: 0...digits.count, using: &generator))
            }
            var text = (Bool.random(using: &generator) ? "-" : "") + digits.joined()
            if Bool.random(using: &generator) { text += "e\(Int.random(in: -80...80, using: &generator))" }
            guard number(text, \.isDecimal) ?? false else { continue }
            let description = Decimal(string: text)?.description
            #expect(plain(text) == (description == "-0" ? "0" : description), "seed \(seed): \(text)")
        }
        #expect(plain("9" + String(repeating: "0", count: 127)) == "9" + String(repeating: "0", count: 127))
        #expect(number("1e-128", \.isDecimal) == false && number("1e200", \.isDecimal) == false)
    }

    @Test(arguments: 1...5) func whatADoublePrintsIsExact(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<2000 {
            let value = Double(bitPattern: .random(in: .min ... .max, using: &generator))
            guard value.isFinite else { continue }
            #expect(number(value.description, \.isDouble) == true, "seed \(seed): \(value)")
            let printed = String(format: "%.17g", value)
            #expect(number(printed, \.isDouble) == true, "seed \(seed): \(printed)")
        }
        for text in ["0.1234567890123456789", "9007199254740993", "1e-400", "1e400", "123456789012345678"] {
            #expect(number(text, \.isDouble) == false, "\(text)")
        }
    }

    @Test(arguments: [
        ("42", true), ("-42", true), ("0", true), ("0.5", true), ("1.50", true), ("1.5e300", true), ("1e-5", true),
        ("1e+5", true), ("+5", false), ("007", false), ("-01.5", false), (".5", false), ("5.", false), ("12E4", false),
        ("-0", true),
    ]) func plainNotationHasNoPlusAndNoLeadingZeros(text: String, isPlain: Bool) {
        #expect(number(text, \.isPlain) == isPlain)
    }

    @Test(arguments: [
        "", "-", ".", "1e", "1e+", "1.2.3", "1x", " 1", "1 ", "0x10", "--5", "1e5.5", "é", "1_000",
    ]) func whatIsNoNumberIsNone(text: String) {
        #expect(number(text) { _ in true } == nil)
    }

    @Test(arguments: [
        ("9223372036854775807", Int64.max), ("-9223372036854775808", .min), ("9223372036854775808", nil),
        ("1.50e1", 15),
        ("1.5", nil), ("0", 0), ("-0.00", 0), ("10e17", 1_000_000_000_000_000_000), ("10e18", nil), ("1e1000000", nil),
    ]) func wholeNumbersOf64BitsAreIntegers(text: String, expected: Int64?) {
        #expect(number(text, \.integer) == .some(expected))
    }
}

extension String {
    fileprivate func trimmingSuffix(_ matches: (Character) -> Bool) -> String {
        String(reversed().drop(while: matches).reversed())
    }
}
