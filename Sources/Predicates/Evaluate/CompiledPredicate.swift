package import Values

/// A predicate prepared for many rows: attributes are slots, constants have their attribute's type, patterns are
/// folded.
///
/// Logic is two-valued: a comparison with null is false, but for `== nil` and `!=`.
package struct CompiledPredicate: Sendable {
    indirect enum Node: Sendable {
        case constant(Bool)
        case not(Node)
        case all([Node])
        case any([Node])
        /// A comparison of two operands by their order.
        case order(Operand, Comparator, Operand)
        /// A comparison of two operands' folded texts.
        case foldedOrder(Operand, Comparator, Operand, TextFolding)
        case search(Operand, TextSearch)
        /// One of the folded texts, or one of the other values.
        case isIn(Operand, texts: Set<[UInt8]>, TextFolding, others: [Value])
        case between(Operand, Value, Value)
    }

    enum Operand: Sendable {
        case slot(Int)
        case value(Value)
    }

    private let root: Node

    /// Prepares a predicate; `resolve` gives an attribute's slot and, if it has one, its type.
    /// Throws for attributes that are unknown and for comparisons that no row could decide.
    package init(
        _ syntax: PredicateSyntax, resolving resolve: (String) throws -> (slot: Int, type: ValueType?)
    ) throws {
        root = try withoutActuallyEscaping(resolve) { try PredicateCompiler(resolve: $0).compile(syntax) }
    }

    /// Whether a row matches; `value` reads one of its slots.
    package func evaluate(_ value: (Int) throws -> Value) throws -> Bool { try Self.evaluate(root, value) }

    private static func evaluate(_ node: Node, _ value: (Int) throws -> Value) throws -> Bool {
        func read(_ operand: Operand) throws -> Value {
            switch operand {
            case .slot(let slot): try value(slot)
            case .value(let value): value
            }
        }
        switch node {
        case .constant(let result): return result
        case .not(let inner): return try !evaluate(inner, value)
        case .all(let parts): return try parts.allSatisfy { try evaluate($0, value) }
        case .any(let parts): return try parts.contains { try evaluate($0, value) }
        case .order(let left, let comparator, let right):
            return comparator.holds(try read(left), try read(right))
        case .foldedOrder(let left, let comparator, let right, let folding):
            return comparator.holds(try read(left).folded(folding), try read(right).folded(folding))
        case .search(let operand, let search):
            guard case .string(let text) = try read(operand) else { return false }
            return search.matches(text)
        case .isIn(let operand, let texts, let folding, let others):
            let found = try read(operand)
            if case .string(let text) = found { return texts.contains(folding.fold(text)) }
            return !found.isNull && others.contains { Comparator.equal.holds(found, $0) }
        case .between(let operand, let low, let high):
            let found = try read(operand)
            return Comparator.lessOrEqual.holds(low, found) && Comparator.lessOrEqual.holds(found, high)
        }
    }
}

extension Comparator {
    /// Whether two values stand to each other as `==`, `!=`, `<`, `<=`, `>` or `>=` says.
    func holds(_ left: Value, _ right: Value) -> Bool {
        if left.isNull || right.isNull {
            switch self {
            case .equal: return left.isNull && right.isNull
            case .notEqual: return left.isNull != right.isNull
            default: return false
            }
        }
        guard let order = left.compare(to: right) else { return self == .notEqual }
        switch self {
        case .equal: return order == .same
        case .notEqual: return order != .same
        case .less: return order == .ascending
        case .lessOrEqual: return order != .descending
        case .greater: return order == .descending
        case .greaterOrEqual: return order != .ascending
        default: return false
        }
    }
}

extension Value {
    /// A text with what a comparison overlooks taken out; other values stay.
    fileprivate func folded(_ folding: TextFolding) -> Value {
        guard case .string(let text) = self else { return self }
        return .string(String(decoding: folding.fold(text), as: UTF8.self))
    }
}
