#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif
internal import Values

/// Turns a syntax tree into a compiled one.
struct PredicateCompiler {
    typealias Node = CompiledPredicate.Node
    typealias Operand = CompiledPredicate.Operand

    let resolve: (String) throws -> (slot: Int, type: ValueType?)

    func compile(_ syntax: PredicateSyntax) throws -> Node {
        switch syntax {
        case .constant(let result): .constant(result)
        case .not(let inner): .not(try compile(inner))
        case .and(let parts): .all(try parts.map(compile))
        case .or(let parts): .any(try parts.map(compile))
        case .comparison(let comparison): try compile(comparison)
        }
    }

    private func compile(_ comparison: Comparison) throws -> Node {
        let leftType = try type(of: comparison.left)
        let rightType = try type(of: comparison.right)
        if case .list(let elements) = comparison.right {
            return try compileList(comparison, elements.map { try constant($0, as: leftType, in: comparison) })
        }
        let left = try operand(comparison.left, as: rightType, in: comparison)
        let right = try operand(comparison.right, as: leftType, in: comparison)
        if comparison.comparator.isTextSearch || comparison.comparator == .isIn {
            return try compileSearch(comparison, left, leftType, right, rightType)
        }
        guard let leftType, let rightType, !leftType.isComparable(to: rightType) else {
            return comparison.folding.isEmpty
                ? .order(left, comparison.comparator, right)
                : .foldedOrder(left, comparison.comparator, right, comparison.folding)
        }
        // A literal takes its attribute's type where it can; then the types agree.
        if case .value(let value) = right, value.type.map(leftType.isComparable) ?? true {
            return .order(left, comparison.comparator, right)
        }
        if case .value(let value) = left, value.type.map(rightType.isComparable) ?? true {
            return .order(left, comparison.comparator, right)
        }
        throw mismatch(comparison, leftType, rightType)
    }

    /// BETWEEN and IN with a list of constants.
    private func compileList(_ comparison: Comparison, _ values: [Value]) throws -> Node {
        let operand = try operand(comparison.left, as: nil, in: comparison)
        if comparison.comparator == .between {
            if comparison.folding.isEmpty { return .between(operand, values[0], values[1]) }
            return .all([
                .foldedOrder(operand, .greaterOrEqual, .value(values[0]), comparison.folding),
                .foldedOrder(operand, .lessOrEqual, .value(values[1]), comparison.folding),
            ])
        }
        let texts = values.compactMap { value -> [UInt8]? in
            guard case .string(let text) = value else { return nil }
            return comparison.folding.fold(text)
        }
        let others = values.filter { $0.type != .string && !$0.isNull }
        return .isIn(operand, texts: Set(texts), comparison.folding, others: others)
    }

    /// CONTAINS, BEGINSWITH, ENDSWITH, and IN with a text on its right, which is CONTAINS turned round.
    private func compileSearch(
        _ comparison: Comparison, _ left: Operand, _ leftType: ValueType?, _ right: Operand, _ rightType: ValueType?
    ) throws -> Node {
        let isTurned = comparison.comparator == .isIn
        let (text, pattern) = isTurned ? (right, left) : (left, right)
        let textType = isTurned ? rightType : leftType
        guard textType == nil || textType == .string, case .value(let value) = pattern else {
            throw FetchPredicateError.typeMismatch(
                "\(comparison.comparator.rawValue) in \"\(comparison)\" looks for a text in a text attribute")
        }
        if value.isNull { return .constant(false) }
        guard case .string(let pattern) = value else {
            throw FetchPredicateError.typeMismatch(
                "\(comparison.comparator.rawValue) in \"\(comparison)\" looks for a text")
        }
        let place = isTurned ? Comparator.contains : comparison.comparator
        return .search(text, TextSearch(place, pattern, comparison.folding))
    }

    // MARK: Operands

    private func type(of expression: ExpressionSyntax) throws -> ValueType? {
        switch expression {
        case .attribute(let name): try resolve(name).type
        case .value(let value): value.type
        case .list: nil
        }
    }

    private func operand(_ expression: ExpressionSyntax, as type: ValueType?, in comparison: Comparison) throws
        -> Operand
    {
        if case .attribute(let name) = expression { return .slot(try resolve(name).slot) }
        return .value(try constant(expression, as: type, in: comparison))
    }

    /// A literal, read as the type of the attribute that it is compared with: "2016-05-16" as a date.
    private func constant(_ expression: ExpressionSyntax, as type: ValueType?, in comparison: Comparison) throws
        -> Value
    {
        guard case .value(let value) = expression else {
            throw FetchPredicateError.typeMismatch("\"\(comparison)\" needs a value, not a list")
        }
        guard let type, let own = value.type, !type.isComparable(to: own) else { return value }
        if comparison.comparator.isTextSearch { return value }
        guard case .string(let text) = value, let converted = Value(text, as: type) else {
            throw mismatch(comparison, type, own)
        }
        return converted
    }

    private func mismatch(_ comparison: Comparison, _ left: ValueType, _ right: ValueType) -> FetchPredicateError {
        .typeMismatch("\"\(comparison)\" compares a \(left.name) with a \(right.name)")
    }
}

extension ValueType {
    private var isNumber: Bool { self == .integer || self == .double || self == .decimal || self == .boolean }

    fileprivate func isComparable(to other: ValueType) -> Bool { self == other || isNumber && other.isNumber }
}

extension Value {
    /// A literal as another type: a text that reads as one, or seconds since 2001 as a date.
    func cast(to type: ValueType) -> Value? {
        switch (self, type) {
        case (.string("nan"), .double): .double(.nan)
        case (.string("inf"), .double): .double(.infinity)
        case (.string("-inf"), .double): .double(-.infinity)
        case (.string(let text), _): Value(text, as: type)
        case (.double(let seconds), .date): .date(Date(timeIntervalSinceReferenceDate: seconds))
        case (.integer(let seconds), .date): .date(Date(timeIntervalSinceReferenceDate: Double(seconds)))
        default: nil
        }
    }
}
