import Foundation
import FetchIndexRecords
import Testing
import FetchIndexValues

@testable import FetchIndex
@testable import FetchIndexPredicates

/// Every line of the tables is evaluated on values in memory and, if its object is flat and its column "stored" isn't
/// "-", on a record.
@Suite struct PredicateCaseTests {
    struct Argument: PredicateArgument { let predicateValue: PredicateValue }

    @Test func everyPredicateCaseGivesItsExpectedResult() throws {
        let objects = try CaseObjects()
        let cases = try PredicateCase.all()
        #expect(cases.count >= 500)
        for item in cases {
            let found = result(item) { predicate in
                let object = try #require(objects[item.object], "\(item) has no object")
                return try predicate.evaluate(with: object)
            }
            expect(found, item.expected, item)
            guard let stored = try objects.stored(item.object), item.stored != "-" else { continue }
            let storedResult = result(item) { predicate in
                try CompiledPredicate(predicate, stored.entity).evaluate(RecordView(stored.record.span.bytes))
            }
            expect(storedResult, item.stored.isEmpty ? item.expected : item.stored, item, on: "a record")
        }
    }

    /// Printing and parsing a predicate of the tables gives the same tree.
    @Test func predicatesOfTheTablesReadBackFromTheirCanonicalForm() throws {
        for item in try PredicateCase.all() {
            guard let predicate = try? parse(item) else { continue }
            let again = try? FetchPredicate(predicate.description)
            #expect(again == predicate, "\(item): \(predicate)")
        }
    }

    private func parse(_ item: PredicateCase) throws -> FetchPredicate {
        try FetchPredicate(format: item.format, argumentArray: item.arguments.map { Argument(predicateValue: $0) })
    }

    /// The result as the tables write it, followed by details of an error: true, false, error@POSITION FOUND, error,
    /// mismatch or refused.
    private func result(_ item: PredicateCase, _ evaluate: (FetchPredicate) throws -> Bool) -> String {
        do {
            let predicate = try parse(item)
            do { return try "\(evaluate(predicate))" } catch let error as FetchPredicateError {
                switch error {
                case .typeMismatch, .unknownAttribute: return "mismatch: \(error)"
                default: return "refused: \(error)"
                }
            }
        } catch FetchPredicateError.unexpected(let position, let found, let expected) {
            let isQuoted = found.count > 2 && found.hasPrefix("\"") && found.hasSuffix("\"")
            let piece = isQuoted ? String(found.dropFirst().dropLast()) : found
            return "error@\(position) \(piece)  (expected \(expected))"
        } catch {
            return "error: \(error)"
        }
    }

    private func expect(_ found: String, _ expected: String, _ item: PredicateCase, on what: String = "values") {
        let matches =
            switch expected {
            case "true", "false": found == expected
            case "error", "mismatch", "refused": found.hasPrefix(expected)
            default: found.hasPrefix(expected + "  (")
            }
        #expect(matches, "\(item)\n    on \(what): \(found), not \(expected)")
    }
}
