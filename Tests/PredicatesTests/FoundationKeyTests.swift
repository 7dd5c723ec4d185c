import Foundation
import Testing
import FetchIndexValues

@testable import FetchIndexPredicates

/// NSPredicate formats with keys of Foundation's classes, with names of these classes in casts, and with empty texts,
/// nulls and decimals.
@Suite struct FoundationKeyTests {
    private func holds(_ format: String, _ values: [String: PredicateValue] = [:]) throws -> Bool {
        try FetchPredicate(format: format, argumentArray: []).evaluate(with: .dictionary(values))
    }

    private let scores: [String: PredicateValue] = [
        "scores": .list([.one(3), .one(9), .one(6)]), "name": .one("影の國 12"), "code": .one("  42abc"),
        "price": .one(2.75), "flag": .one("Yes"), "vacant": .one(.null),
    ]

    @Test(arguments: [
        ("scores.@sum.self == 18", true), ("scores.@max.self == 9", true), ("scores.@min.self == 3", true),
        ("scores.@avg.doubleValue == 6", true), ("scores.@count == 3", true), ("name.length == 6", true),
        ("name.description == '影の國 12'", true), ("code.intValue == 42", true), ("code.integerValue == 42", true),
        ("code.longLongValue == 42", true), ("name.intValue == 0", true), ("code.doubleValue == 42", true),
        ("price.intValue == 2", true), ("price.stringValue == '2.75'", true), ("price.floatValue == 2.75", true),
        ("flag.boolValue == YES", true), ("name.boolValue == YES", false), ("vacant.length == nil", true),
        ("price.length == nil", true), ("name.nothing == nil", true),
    ]) func keysOfFoundationClassesAreEvaluated(format: String, isTrue: Bool) throws {
        #expect(try holds(format, scores) == isTrue, "\(format)")
    }

    @Test(arguments: [
        ("CAST(0, 'NSDate') == CAST('2001-01-01', 'date')", true), ("CAST(3, 'NSString') == '3'", true),
        ("CAST('3', 'NSNumber') == 3", true), ("CAST('3.5', 'NSNumber') == 3.5", true),
        ("CAST('0.1', 'NSDecimalNumber') == CAST('0.10', 'decimal')", true),
    ]) func castsAcceptFoundationClassNames(format: String, isTrue: Bool) throws {
        #expect(try holds(format) == isTrue, "\(format)")
    }

    @Test(arguments: ["", "[c]", "[d]", "[cd]", "[n]"]) func searchesForTheEmptyTextAreFalse(modifier: String)
        throws
    {
        for format in ["name CONTAINS\(modifier) ''", "name BEGINSWITH\(modifier) ''", "name ENDSWITH\(modifier) ''"] {
            #expect(try !holds(format, scores), "\(format)")
            #expect(try holds("NOT \(format)", scores), "\(format)")
        }
        #expect(try !holds("name CONTAINS\(modifier) empty", scores.merging(["empty": .one("")]) { $1 }))
    }

    @Test func nullIsInAListThatContainsIt() throws {
        #expect(try holds("nil IN {NULL, 'a'}"))
        #expect(try holds("vacant IN {NULL, 'a'}", scores))
        #expect(try !holds("vacant IN {'b', 'a'}", scores))
        #expect(try !holds("name IN {NULL, 'a'}", scores))
    }

    @Test func literalsWithManyDigitsCompareExactlyWithDecimals() throws {
        let digits = "12345678901234567890.12345678"
        let values: [String: PredicateValue] = ["d": .one(.decimal(try #require(Decimal(string: digits))))]
        #expect(try holds("d == \(digits)", values))
        #expect(try !holds("d == 12345678901234567890.12345679", values))
        #expect(try holds("d < 12345678901234567890.12345679", values))
        #expect(try holds("-d == -\(digits)", values))
        let predicate = try FetchPredicate(format: "d == \(digits)", argumentArray: [])
        #expect(try FetchPredicate(format: predicate.description, argumentArray: []) == predicate)
    }

    /// Decimals are compared by their digits, without parsing.
    @Test func decimalTextsCompareAsTheirNumbers() throws {
        let texts = [
            "-12", "-2.5", "-2.05", "-0.5", "-0.05", "0", "0.0", "-0", "0.05", "0.5", "0.50", "2", "2.05", "2.5", "10",
            "010",
            "100", "99.999",
        ]
        for left in texts {
            for right in texts {
                let one = try #require(Decimal(string: left)), other = try #require(Decimal(string: right))
                let (leftBytes, rightBytes) = (Array(left.utf8), Array(right.utf8))
                let order = DecimalText.order(leftBytes.span.bytes, rightBytes.span.bytes)
                #expect(order?.signum() == (one < other ? -1 : one == other ? 0 : 1), "\(left) \(right)")
            }
        }
        let (number, word) = (Array("1".utf8), Array("NaN".utf8))
        let order = DecimalText.order(number.span.bytes, word.span.bytes)
        #expect(order == nil)
    }
}
