import FetchIndexTestSupport
import FetchIndexValues

@testable import FetchIndexPredicates

/// Random predicates over a few attributes, and a plain evaluator as the oracle for other ways to evaluate them.
struct PlainPredicate {
    /// The attributes by slot. Values of `gone` are missing.
    static let names = ["i", "r", "t", "u", "gone"]
    static let types: [ValueType] = [.integer, .double, .string, .string, .integer]

    private var generator: SeededGenerator

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    private mutating func int(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }

    private mutating func pick<Element>(_ elements: [Element]) -> Element { elements[int(0...elements.count - 1)] }

    // MARK: Rows

    /// The values of a row by name; on average, one in four is null.
    mutating func row() -> [String: Value] {
        var row: [String: Value] = [:]
        for (name, type) in zip(Self.names, Self.types) where name != "gone" {
            row[name] = int(0...3) == 0 ? .null : value(type)
        }
        return row
    }

    private mutating func value(_ type: ValueType) -> Value {
        switch type {
        case .integer: .integer(Int64(pick([-2, 0, 1, 2, 3])))
        case .double: .double(pick([-2, -0.5, 0, 1, 1.5, 2]))
        default: .string(pick(["a", "b", "ab", "AB", "Ab", "ba", "aab"]))
        }
    }

    // MARK: Predicates

    mutating func predicate(depth: Int) -> PredicateSyntax {
        switch int(0...(depth > 0 ? 6 : 2)) {
        case 0...2: return .comparison(comparison())
        case 3: return .not(predicate(depth: depth - 1))
        case 4: return .or((0..<int(2...3)).map { _ in predicate(depth: depth - 1) })
        case 5: return equalities()
        default: return .and((0..<int(2...3)).map { _ in predicate(depth: depth - 1) })
        }
    }

    /// An OR of 2 to 24 equalities of the same attribute, some of which are combined with another comparison by AND.
    private mutating func equalities() -> PredicateSyntax {
        let slot = int(0...3)
        return .or(
            (0..<int(2...24)).map { _ in
                let equality = PredicateSyntax.comparison(
                    Comparison(.attribute(Self.names[slot]), .equal, .value(value(Self.types[slot]))))
                return int(0...2) == 0 ? .and([equality, .comparison(comparison())]) : equality
            })
    }

    private mutating func comparison() -> Comparison {
        let slot = int(0...4)
        // Both sides are numbers, or both are texts; either side may be null.
        let isText = Self.types[slot] == .string
        func operand(_ random: inout Self) -> ExpressionSyntax {
            switch random.int(0...5) {
            case 0: .value(.null)
            case 1: .attribute(random.pick(isText ? ["t", "u"] : ["i", "r", "gone"]))
            default: .value(random.value(isText ? .string : random.pick([.integer, .double])))
            }
        }
        let folding: TextFolding = isText && int(0...2) == 0 ? .caseInsensitive : []
        let left = int(0...4) == 0 ? operand(&self) : .attribute(Self.names[slot])
        switch int(0...9) {
        case 0: return Comparison(left, .between, folding: folding, .list([operand(&self), operand(&self)]))
        case 1:
            let list = (0..<int(0...4)).map { _ in operand(&self) }
            return Comparison(left, .isIn, folding: folding, .list(list))
        case 2...4 where isText:
            return Comparison(left, pick([.contains, .beginsWith, .endsWith]), folding: folding, operand(&self))
        default:
            let comparators: [Comparator] = [.equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual]
            return Comparison(left, pick(comparators), folding: folding, operand(&self))
        }
    }

    // MARK: The oracle

    /// Whether a predicate holds for a row. A missing value is null.
    static func holds(_ predicate: PredicateSyntax, for row: [String: Value]) -> Bool {
        switch predicate {
        case .constant(let result): result
        case .not(let inner): !holds(inner, for: row)
        case .and(let parts): parts.allSatisfy { holds($0, for: row) }
        case .or(let parts): parts.contains { holds($0, for: row) }
        case .comparison(let comparison): holds(comparison, for: row)
        }
    }

    private static func holds(_ comparison: Comparison, for row: [String: Value]) -> Bool {
        func values(_ expression: ExpressionSyntax) -> [Value] {
            switch expression {
            case .value(let value): [value]
            case .list(let elements): elements.flatMap(values)
            case .keyPath(_, let steps): steps == [.name("gone")] ? [.null] : [row[name(of: steps)] ?? .null]
            default: []
            }
        }
        let ignoresCase = !comparison.folding.isEmpty
        let left = values(comparison.left)[0]
        let right = values(comparison.right)
        switch comparison.comparator {
        case .between:
            return relation(.lessOrEqual, right[0], left, ignoresCase)
                && relation(.lessOrEqual, left, right[1], ignoresCase)
        case .isIn: return right.contains { relation(.equal, left, $0, ignoresCase) }
        case .contains, .beginsWith, .endsWith:
            guard case .string(let text) = left, case .string(let part) = right[0], !part.isEmpty else { return false }
            return finds(comparison.comparator, folded(part, ignoresCase), in: folded(text, ignoresCase))
        default: return relation(comparison.comparator, left, right[0], ignoresCase)
        }
    }

    private static func name(of steps: [KeyPathStep]) -> String {
        if case .name(let name)? = steps.first { name } else { "" }
    }

    private static func folded(_ text: String, _ ignoresCase: Bool) -> String { ignoresCase ? text.lowercased() : text }

    private static func finds(_ comparator: Comparator, _ part: String, in text: String) -> Bool {
        switch comparator {
        case .beginsWith: text.hasPrefix(part)
        case .endsWith: text.hasSuffix(part)
        default: text.indices.contains { text[$0...].hasPrefix(part) }
        }
    }

    /// Compares two values. Null equals null only, and has no order.
    static func relation(_ comparator: Comparator, _ left: Value, _ right: Value, _ ignoresCase: Bool = false) -> Bool {
        var order: Int?
        if let left = number(left), let right = number(right) {
            order = left < right ? -1 : left > right ? 1 : 0
        } else if case .string(let left) = left, case .string(let right) = right {
            let (left, right) = (folded(left, ignoresCase), folded(right, ignoresCase))
            order = left < right ? -1 : left > right ? 1 : 0
        } else if left.isNull && right.isNull {
            return comparator == .equal
        }
        guard let order else { return comparator == .notEqual }
        switch comparator {
        case .equal: return order == 0
        case .notEqual: return order != 0
        case .less: return order < 0
        case .lessOrEqual: return order <= 0
        case .greater: return order > 0
        case .greaterOrEqual: return order >= 0
        default: return false
        }
    }

    private static func number(_ value: Value) -> Double? {
        switch value {
        case .integer(let number): Double(number)
        case .double(let number): number
        default: nil
        }
    }
}
