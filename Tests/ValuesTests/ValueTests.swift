import Foundation
import FetchIndexTestSupport
import Testing

@testable import FetchIndexValues

/// Values: comparing, reading from texts, folding and collating.
@Suite struct ValueTests {
    @Test func decimalsCompareWithThePrintedDigitsOfDoubles() {
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
    ]) func aTextIsReadAsAValueOfItsType(text: String, type: ValueType, printed: String) throws {
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
    ]) func aMalformedTextReadsAsNil(text: String, type: ValueType) {
        #expect(Value(text, as: type) == nil)
    }

    @Test func foldingDropsCaseAndAccentsButKeepsVoicedKana() {
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

    @Test func localizedOrdersFollowTheRulesOfTheirLanguage() throws {
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

    @Test func daysAgreeWithFoundationsCalendarInSixTimeZones() throws {
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
