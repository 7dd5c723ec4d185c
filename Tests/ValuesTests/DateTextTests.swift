import Foundation
import FetchIndexTestSupport
import Testing

@testable import FetchIndexValues

/// Dates are written as texts and read from texts.
@Suite struct DateTextTests {
    @Test(
        arguments: [
            ("2001-01-01T00:00:00Z", 0), ("2016-05-16T09:30:00Z", 485_083_800),
            ("1999-12-31T23:59:59.500Z", -31_622_400.5),
            ("1582-10-14T00:00:00Z", -13_197_686_400), ("1000-03-01T00:00:00Z", -31_583_433_600),
            ("0000-01-01T00:00:00Z", -63_145_526_400), ("9999-12-31T23:59:59Z", 252_423_993_599),
        ] as [(String, Double)]) func datesOfTheYears0To9999AreInTheGregorianCalendar(text: String, seconds: Double)
    {
        #expect(Value.date(Date(timeIntervalSinceReferenceDate: seconds)).description == text)
        #expect(Value(text, as: .date) == .date(Date(timeIntervalSinceReferenceDate: seconds)))
    }

    @Test(arguments: [
        "2016-02-30", "2016-13-01", "2016-5-16", "2016-05-16x", "2016-05-16T25:00:00Z", "16-05-2016", "", "2016-05",
        "2016-05-16\u{301}", "2016-05-16T", "２０１６-05-16", "+016-05-16",
    ]) func invalidDatesAreRefused(text: String) {
        #expect(Value(text, as: .date) == nil)
    }

    @Test func dateTextsWithTimesAndOffsetsAreRead() {
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
    ]) func fractionsBeyondMillisecondsAreCutOff(text: String, printed: String) {
        #expect(Value(text, as: .date)?.description == printed)
    }

    @Test(arguments: [
        "2024-01-02T03:04:05.", "2024-01-02T03:04:05.5.5", "2024-01-02  03:04:05", "2024-01-02T03:04:05+25:00",
        "2024-01-02T03:04:05+09:60", "2024-01-02T03:04:05Z ",
    ])
    func datesWithInvalidTimesOrOffsetsAreRefused(text: String) {
        #expect(Value(text, as: .date) == nil)
    }

    /// A date is read from a text, and printed with all digits and with milliseconds. The printed dates must not be
    /// later than the text.
    @Test(arguments: 1...5) func fractionsOfSecondsAreNotRoundedUp(seed: UInt64) throws {
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
                // The texts compare in the order of time.
                #expect(
                    String(printed.dropLast()).trimmingSuffix { $0 == "0" } <= text,
                    "seed \(seed): \(text) as \(printed)")
            }
            #expect(Date(exactText: date.exactText) == date, "seed \(seed): \(text) as \(date.exactText)")
            // Milliseconds are kept, since doubles distinguish them in all these years.
            let shown = text.trimmingSuffix { $0 == "0" }.trimmingSuffix { $0 == "." }
            if places <= 3 { #expect(date.iso8601.hasPrefix(shown), "seed \(seed): \(text) as \(date.iso8601)") }
        }
    }

    @Test(arguments: 1...5) func datesReadBackFromTheirExactTexts(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<3000 {
            let ranges: [Double] = [1, 1e6, 1e9, 6e10]
            let range = ranges[Int.random(in: 0..<4, using: &generator)]
            let date = Date(timeIntervalSinceReferenceDate: .random(in: -range...range * 4, using: &generator))
            #expect(Date(exactText: date.exactText) == date, "seed \(seed): \(date.timeIntervalSinceReferenceDate)")
        }
    }

    /// A date of whole milliseconds reads back from its description unchanged.
    @Test(arguments: 1...5) func datesOfWholeMillisecondsReadBackUnchanged(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            let milliseconds = Int64.random(in: -62_000_000_000_000...250_000_000_000_000, using: &generator)
            let date = Date(timeIntervalSinceReferenceDate: Double(milliseconds) / 1000)
            #expect(Value(Value.date(date).description, as: .date) == .date(date), "seed \(seed): \(milliseconds)")
        }
    }
}

extension String {
    fileprivate func trimmingSuffix(_ matches: (Character) -> Bool) -> String {
        String(reversed().drop(while: matches).reversed())
    }
}
