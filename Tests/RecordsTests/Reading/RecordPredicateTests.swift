import FetchIndexModels
import FetchIndexPredicates
import Foundation
import Testing
import FetchIndexValues

@testable import FetchIndexRecords

/// A comparison has the same result for a record's bytes as for its values: for each pair of the values below, with
/// each of the comparators below, if the comparison can be compiled.
@Suite struct RecordPredicateTests {
    private static let values: [ValueType: [Value]] = [
        .string: ["", "a", "ab", "B", "é", "e\u{301}", "影"],
        .integer: [0, -1, 1, 255, 256, .integer(.min), .integer(.max)],
        .double: [.double(0), -0.0, 0.5, .double(-2), 1e300, .double(.infinity), .double(-.infinity)],
        .boolean: [true, false], .decimal: [.decimal(0), .decimal(-1), .decimal(0.5), .decimal(1_000_000)],
        .date: [0, 1.5, -86_400].map { .date(Date(timeIntervalSinceReferenceDate: $0)) },
        .uuid: [
            .uuid(UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1))),
            .uuid(UUID(uuid: (255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))),
        ],
        .url: ["http://a", "http://b/1"].compactMap { URL(string: $0).map(Value.url) },
        .data: [.data(Data()), .data(Data([0])), .data(Data([255, 1]))],
    ]

    private static let comparators: [FetchIndexPredicates.Comparator] = [
        .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .isIn, .contains, .beginsWith, .endsWith,
    ]

    @Test(arguments: ValueType.allCases) func aComparisonHasTheSameResultForARecordAsForItsValues(
        type: ValueType
    ) throws {
        let entity = Entity("Thing", [AttributeDescription("one", type), AttributeDescription("other", type)])
        let values = try #require(Self.values[type]) + [.null]
        var (compiledCount, holdCount) = (0, 0)
        for one in values {
            for other in values {
                let record = try entity.record([one, other])
                for comparator in Self.comparators {
                    for right in [ExpressionSyntax.value(other), .attribute("other")] {
                        let operand = comparator == .isIn ? .list([right, .value(values[0])]) : right
                        let syntax = PredicateSyntax.comparison(Comparison(.attribute("one"), comparator, operand))
                        // Some text searches are refused when they are compiled.
                        guard
                            let compiled = try? CompiledPredicate(
                                syntax,
                                resolving: { names in
                                    ResolvedAttribute(slot: names == ["one"] ? 0 : 1, type: type, nameCount: 1)
                                })
                        else { continue }
                        let expected = try FetchPredicate(syntax).evaluate(with: ["one": one, "other": other])
                        let found = try compiled.evaluate(RecordView(record.span.bytes))
                        #expect(found == expected, "\(syntax) on \(one), \(other)")
                        compiledCount += 1
                        holdCount += expected ? 1 : 0
                    }
                }
            }
        }
        #expect(compiledCount > values.count * values.count * 8, "\(type)")
        #expect(holdCount > 0 && holdCount < compiledCount, "\(type)")
    }
}
