import FetchIndexTestSupport
import Testing
import FetchIndexValues

@testable import FetchIndexPredicates

/// Predicates evaluated on a dictionary, compiled and by parts, and the conclusions that a plan draws from a predicate,
/// are compared with a plain evaluator.
@Suite struct PlainEvaluationTests {
    private static let seeds = 1...(TestSettings.isLong ? 200 : 10) as ClosedRange<UInt64>

    private func compiled(_ syntax: PredicateSyntax) throws -> CompiledPredicate {
        try CompiledPredicate(syntax) { names in
            let slot = PlainPredicate.names.firstIndex(of: names[0]) ?? 0
            return ResolvedAttribute(slot: slot, type: PlainPredicate.types[slot], nameCount: 1)
        }
    }

    private func typedRow(_ row: [String: Value]) -> ValueRow {
        ValueRow(object: .dictionary(row.mapValues { .one($0) }), names: PlainPredicate.names)
    }

    @Test(arguments: seeds) func parsedCompiledAndPartwiseEvaluationAgreeWithAPlainEvaluator(seed: UInt64) throws {
        var random = PlainPredicate(seed: seed)
        var holdCount = 0
        for round in 0..<100 {
            let syntax = random.predicate(depth: 3)
            let predicate = FetchPredicate(syntax)
            let parsed = try FetchPredicate(predicate.description)
            let compiled = try compiled(syntax)
            for _ in 0..<8 {
                let row = random.row()
                let expected = PlainPredicate.holds(syntax, for: row)
                holdCount += expected ? 1 : 0
                let comment = "seed \(seed), round \(round): \(predicate) on \(row)"
                #expect(try predicate.evaluate(with: row) == expected, "\(comment)")
                #expect(try parsed.evaluate(with: row) == expected, "parsed, \(comment)")
                #expect(try compiled.evaluate(typedRow(row)) == expected, "compiled, \(comment)")
                #expect(try compiled.parts.allSatisfy { try holds($0, row) } == expected, "by parts, \(comment)")
            }
        }
        #expect((100...700).contains(holdCount), "seed \(seed): \(holdCount)")
    }

    private func holds(_ part: PredicatePart, _ row: [String: Value]) throws -> Bool {
        let row = typedRow(row)
        switch part {
        case .text(let slot, let test): return try row.test(at: slot, test) ?? false
        case .integer(let slot, let comparator, let number): return comparator.holds(row.integer(at: slot), number)
        case .double(let slot, let comparator, let number): return comparator.holds(row.double(at: slot), number)
        case .other(let predicate): return try predicate.evaluate(row)
        }
    }

    /// A scan leaves out the rows for which a `OneTextTest` of the predicate fails, so none of these tests may fail
    /// for a row that matches the predicate.
    @Test(arguments: seeds) func matchesPassTheTestsOfSingleTextAttributes(seed: UInt64) throws {
        var random = PlainPredicate(seed: seed)
        var failureCount = 0
        for round in 0..<100 {
            let syntax = random.predicate(depth: 3)
            let tests = try compiled(syntax).testsOfOneText { PlainPredicate.types[$0] == .string }
            if tests.isEmpty { continue }
            for _ in 0..<8 {
                let row = random.row()
                let isMatch = PlainPredicate.holds(syntax, for: row)
                for (slot, test) in tests {
                    let isHeld: Bool
                    if case .string(let text)? = row[PlainPredicate.names[slot]] {
                        isHeld = try test.holds(Array(text.utf8).span.bytes)
                    } else {
                        isHeld = try test.holdsForNull()
                    }
                    if !isHeld { failureCount += 1 }
                    #expect(isHeld || !isMatch, "seed \(seed), round \(round): \(syntax) on \(row), slot \(slot)")
                }
            }
        }
        #expect(failureCount > 5, "seed \(seed): \(failureCount)")
    }

    /// A plan looks up only objects that meet the demands, so each match must meet them. If the demands are equivalent
    /// to the predicate (`isWhole`), the plan doesn't evaluate the predicate, so each object that meets them must
    /// match.
    @Test(arguments: seeds) func matchesMeetTheDemandsAndOnlyMatchesMeetDemandsEquivalentToThePredicate(seed: UInt64)
        throws
    {
        var random = PlainPredicate(seed: seed)
        var (demandCount, wholeCount) = (0, 0)
        for round in 0..<100 {
            let syntax = random.predicate(depth: 3)
            let parts = try compiled(syntax).constraints(onPartsOf: syntax) { PlainPredicate.types[$0] }
            let constraints = parts.flatMap(\.constraints)
            demandCount += constraints.count
            let isWhole = parts.allSatisfy(\.isWhole)
            wholeCount += isWhole ? 1 : 0
            for _ in 0..<8 {
                let row = random.row()
                let isMatch = PlainPredicate.holds(syntax, for: row)
                let comment = "seed \(seed), round \(round): \(syntax) on \(row): \(constraints)"
                var areMet = true
                for constraint in constraints {
                    let (demand, value) = (constraint.demand, row[PlainPredicate.names[constraint.slot]] ?? .null)
                    let isMet = meets(demand, value)
                    areMet = areMet && isMet
                    let values = demand.values
                    let isListed = values?.contains { PlainPredicate.relation(.equal, value, $0) }
                    #expect(!isMet || isListed != false, "\(comment)")
                }
                #expect(areMet || !isMatch, "\(comment)")
                if isWhole { #expect(areMet == isMatch, "\(comment)") }
            }
            for constraint in constraints {
                let demand = constraint.demand
                #expect(demand.admitsNull == meets(demand, .null), "seed \(seed), round \(round): \(demand)")
            }
        }
        #expect(demandCount > 5 && wholeCount > 3, "seed \(seed): \(demandCount), \(wholeCount)")
    }

    private func meets(_ demand: AttributeConstraint.Demand, _ value: Value) -> Bool {
        switch demand {
        case .values(let values): values.contains { PlainPredicate.relation(.equal, value, $0) }
        case .relation(let comparator, let bound): PlainPredicate.relation(comparator, value, bound)
        case .prefix(let prefix): if case .string(let text) = value { text.hasPrefix(prefix) } else { false }
        case .anyOf(let demands): demands.contains { meets($0, value) }
        case .allOf(let demands): demands.allSatisfy { meets($0, value) }
        }
    }

    @Test(arguments: seeds) func predicatesCombinedByAndOrNotAgreeWithTheirParts(seed: UInt64) throws {
        var random = PlainPredicate(seed: seed)
        for round in 0..<60 {
            let (one, other) = (random.predicate(depth: 2), random.predicate(depth: 2))
            let (left, right) = (FetchPredicate(one), FetchPredicate(other))
            let row = random.row()
            let (isLeft, isRight) = (PlainPredicate.holds(one, for: row), PlainPredicate.holds(other, for: row))
            let combined: [(FetchPredicate, Bool)] = [
                (left && right, isLeft && isRight), (left || right, isLeft || isRight), (!left, !isLeft),
                (FetchPredicate(allOf: [left, right]), isLeft && isRight),
                (FetchPredicate(anyOf: [left, right]), isLeft || isRight), (FetchPredicate(allOf: [left]), isLeft),
                (FetchPredicate(anyOf: [left]), isLeft), (FetchPredicate(allOf: []), true),
                (FetchPredicate(anyOf: []), false), (!(left || right) && left, false),
            ]
            for (predicate, expected) in combined {
                let comment = "seed \(seed), round \(round): \(predicate) on \(row)"
                #expect(try predicate.evaluate(with: row) == expected, "\(comment)")
                #expect(try FetchPredicate(predicate.description) == predicate, "\(comment)")
            }
        }
    }

    @Test(arguments: seeds) func aPredicateWithRenamedAttributesHoldsForTheSameRows(seed: UInt64) throws {
        var random = PlainPredicate(seed: seed)
        for round in 0..<60 {
            let predicate = FetchPredicate(random.predicate(depth: 2))
            let names = ["i": "whole number", "t": "u", "u": "t"]
            let renamed = predicate.renamingAttributes { names[$0] }
            let row = random.row()
            let renamedRow = Dictionary(uniqueKeysWithValues: row.map { (names[$0.key] ?? $0.key, $0.value) })
            let comment = "seed \(seed), round \(round): \(renamed)"
            #expect(try renamed.evaluate(with: renamedRow) == predicate.evaluate(with: row), "\(comment)")
            let back = Dictionary(uniqueKeysWithValues: names.map { ($0.value, $0.key) })
            #expect(renamed.renamingAttributes { back[$0] } == predicate, "\(comment)")
        }
    }

    /// A predicate whose variable got a value equals the predicate with that value as an argument. Evaluating a
    /// variable without a value is an error.
    @Test func aVariableIsReplacedByItsValue() throws {
        let values: [any PredicateArgument] = [1, 1.5, "a", true, Int?.none, [1, 2], "x\" OR \"1\" == \"1"]
        for value in values {
            let isList = value is [Int]
            let format = "\(isList ? "i IN" : "i ==") $x AND t != 'x'"
            let open = try FetchPredicate(format)
            let closed = try open.withSubstitutionVariables(["x": value, "unused": 7])
            let expected = try FetchPredicate(format: format.replacing("$x", with: "%@"), argumentArray: [value])
            #expect(closed == expected, "\(value)")
            #expect(throws: FetchPredicateError.unknownVariable("x")) { try open.evaluate(with: ["i": 1]) }
            #expect(try open.withSubstitutionVariables(["y": value]) == open)
        }
        #expect(throws: FetchPredicateError.self) {
            try FetchPredicate("i == $x").withSubstitutionVariables(["x": ["a": 1]])
        }
    }
}
