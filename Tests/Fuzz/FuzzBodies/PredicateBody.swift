import FetchIndex
import Foundation
import FetchIndexPredicates
import FetchIndexRecords
import FetchIndexValues

/// A predicate format: it is parsed, printed, parsed again, and evaluated on values and on a record.
///
///     choice of arguments 1 | format, UTF-8
enum PredicateBody {
    static func run(_ input: [UInt8]) {
        var reader = InputReader(input)
        let arguments = argumentLists[Int(reader.byte()) % argumentLists.count]
        let format = String(decoding: reader.remaining(), as: UTF8.self)
        guard let predicate = try? FetchPredicate(format: format, argumentArray: arguments) else { return }
        checkCanonicalForm(of: predicate)
        guard isCheap(predicate) else { return }
        _ = try? predicate.evaluate(with: SampleObject.nested)
        guard let compiled = try? CompiledPredicate(predicate, SampleObject.entity) else { return }
        let record = SampleObject.record
        if let view = try? RecordView(record.span.bytes) { _ = try? compiled.evaluate(view) }
    }

    /// The first byte of an input, modulo the number of lists, selects a list. 0 selects the list without arguments.
    private static let argumentLists: [[any PredicateArgument & Sendable]] = [
        [], [5], ["title"], ["title", 583], [[1, 2, 3]], [Int?.none], [1.5, "x%@\"'", true],
        [Date(timeIntervalSinceReferenceDate: 0.5), Data([0, 255])], [Decimal(5) / 3, ["a", "影"]],
    ]

    /// The printed predicate must parse to an equal one, which prints the same.
    private static func checkCanonicalForm(of predicate: FetchPredicate) {
        let printed = predicate.description
        do {
            let again = try FetchPredicate(printed)
            precondition(again.description == printed, "\(printed) is printed as \(again)")
            precondition(again == predicate, "\(printed) parses to another predicate")
            precondition(again.hashValue == predicate.hashValue, "\(printed) has two hash values")
        } catch FetchPredicateError.unexpected(_, _, "at most 200 levels of nesting") {
            // The canonical form may have too many parentheses.
        } catch {
            preconditionFailure("\(printed) does not parse: \(error)")
        }
    }

    /// Nested loops over lists may take long; that isn't a finding.
    private static func isCheap(_ predicate: FetchPredicate) -> Bool {
        let printed = predicate.description
        let loops = ["SUBQUERY", "ANY ", "ALL ", "NONE "].reduce(0) { $0 + printed.ranges(of: $1).count }
        let longestList = printed.utf8.count { $0 == UInt8(ascii: ",") } + 5
        return pow(Double(longestList), Double(loops)) < 100_000
    }
}
