import Foundation
import FetchIndexTestSupport
import FetchIndexValues

@testable import FetchIndexPredicates

/// Random syntax trees, in the form that the parser gives them.
struct RandomPredicate {
    var generator: SeededGenerator

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    mutating func int(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }

    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[int(0...elements.count - 1)] }

    mutating func syntax(depth: Int) -> PredicateSyntax {
        switch int(0...(depth > 0 ? 7 : 3)) {
        case 0: return .constant(int(0...1) == 0)
        case 1...3: return .comparison(comparison(depth: depth))
        case 4: return .not(syntax(depth: depth - 1))
        case let kind:
            let parts = (0..<int(2...3)).map { _ in syntax(depth: depth - 1) }
            return kind % 2 == 0 ? .and(parts) : .or(parts)
        }
    }

    mutating func comparison(depth: Int) -> Comparison {
        let comparator = pick(Comparator.allCases)
        let quantifier = int(0...9) == 0 ? pick(Quantifier.allCases) : nil
        let right: ExpressionSyntax =
            switch comparator {
            case .between: .list([.value(value()), expression(depth: depth - 1)])
            case .isIn: .list((0..<int(0...3)).map { _ in .value(value()) })
            default: expression(depth: depth - 1)
            }
        return Comparison(
            expression(depth: depth - 1), comparator,
            folding: TextFolding(rawValue: .random(in: 0...3, using: &generator)), right, quantifier: quantifier)
    }

    private mutating func attribute() -> ExpressionSyntax {
        let names = [
            "price", "タイトル", "in", "self", "a.b", "with space", "_x9", "é", "first", "size", "count", "ternary",
        ]
        return .keyPath(.object, (0..<int(1...2)).map { _ in .name(pick(names)) })
    }

    mutating func expression(depth: Int) -> ExpressionSyntax {
        switch int(0...(depth > 0 ? 11 : 4)) {
        case 0...1: return .value(value())
        case 2...3: return attribute()
        case 4: return pick([.object, .variable("x"), .variable("in"), .call(.now, [])])
        case 5...6:
            return .operation(
                pick(ArithmeticOperator.allCases), expression(depth: depth - 1), expression(depth: depth - 1))
        case 7:
            let function = pick(PredicateFunction.allCases.filter { $0 != .now })
            let count = min(function.argumentCount.upperBound, int(function.argumentCount.lowerBound...3))
            let arguments = (0..<count).map { _ in expression(depth: depth - 1) }
            // The parser reads a sign before a literal as part of the literal, so it never makes such a call.
            if function == .negative, case .value(let value) = arguments[0], value.negated != nil {
                return arguments[0]
            }
            return .call(function, arguments)
        case 8: return .list((0..<int(0...3)).map { _ in expression(depth: depth - 1) })
        case 9: return path(depth: depth)
        case 10: return .subquery(expression(depth: depth - 1), variable: "x", syntax(depth: depth - 1))
        default:
            return .ternary(syntax(depth: depth - 1), expression(depth: depth - 1), expression(depth: depth - 1))
        }
    }

    private mutating func path(depth: Int) -> ExpressionSyntax {
        let steps = (0..<int(1...3)).map { _ -> KeyPathStep in
            switch int(0...5) {
            case 0: .name(pick(["name", "in", "a b", "影"]))
            case 1: .collection(pick(CollectionOperator.allCases))
            case 2: .index(expression(depth: depth - 1))
            case 3: .first
            case 4: .last
            default: .size
            }
        }
        let base = expression(depth: depth - 1)
        guard case .keyPath(let inner, let first) = base else { return .keyPath(base, steps) }
        return .keyPath(inner, first + steps)
    }

    mutating func value() -> Value {
        let number = Int64.random(in: .min ... .max, using: &generator) >> Int64(int(0...62))
        switch int(0...9) {
        case 0: return .null
        case 1: return .boolean(number > 0)
        case 2: return .integer(number)
        case 3:
            // NaN is printed without its sign, so a random NaN has none.
            let double = Double(bitPattern: UInt64(bitPattern: number))
            return .double(double.isNaN ? .nan : double)
        case 4: return .decimal(number % 7 == 0 ? .nan : Decimal(number) / 1000)
        case 5:
            let seconds = pick([Double(number) / 1e9, .infinity, -.infinity, .nan, Double(number)])
            return .date(Date(timeIntervalSinceReferenceDate: seconds))
        case 6: return .data(Data([1, 0xFF]))
        case 7: return .uuid(UUID())
        case 8: return .url(URL(fileURLWithPath: "/\(number)"))
        default:
            let pieces = ["\"", "\\", "'", "\n", "a", "影", "%@", "\u{301}", "👩‍👩‍👧", "{", "\t", "*", "?"]
            return .string((0..<int(0...5)).map { _ in pick(pieces) }.joined())
        }
    }
}
