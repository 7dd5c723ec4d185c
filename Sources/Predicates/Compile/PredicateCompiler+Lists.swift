internal import FetchIndexValues

// Operators whose right side is a list or a text to look into.

extension PredicateCompiler {
    /// Compiles the elements of a list literal; returns nil for other expressions.
    private func elements(_ expression: ExpressionSyntax, _ scope: [String]) throws -> [Typed]? {
        guard case .list(let elements) = expression else { return nil }
        return try elements.map { try operand($0, scope) }
    }

    func between(_ comparison: Comparison, _ left: Typed, _ scope: [String]) throws -> Node {
        guard let bounds = try elements(comparison.right, scope) else {
            let right = try operand(comparison.right, scope)
            guard right.type == .list || right.type.isOpen else { throw mismatch(comparison, left, right) }
            return .between(left.operand, right.operand, comparison.folding)
        }
        guard bounds.count == 2 else {
            if hasObject { return .constant(false) }
            throw FetchPredicateError.typeMismatch("BETWEEN in \(comparison.shown) needs a list of two values")
        }
        return .all([
            try relation(comparison, .greaterOrEqual, left, bounds[0]),
            try relation(comparison, .lessOrEqual, left, bounds[1]),
        ])
    }

    func membership(_ comparison: Comparison, _ left: Typed, _ scope: [String]) throws -> Node {
        guard let elements = try elements(comparison.right, scope) else {
            return try membership(comparison, left, in: try operand(comparison.right, scope))
        }
        // A literal on the left is converted to the elements' type if all elements have the same type.
        let types = Set(elements.map(\.type))
        let left = types.count == 1 ? try self.converted(left, for: types.first ?? .unknown, in: comparison) : left
        let operands = try elements.map { element in
            let element = try self.converted(element, for: left.type, in: comparison)
            guard element.type.isComparable(to: left.type) else { throw mismatch(comparison, left, element) }
            return element.operand
        }
        let constants = operands.compactMap { operand -> PredicateValue? in
            if case .constant(let value) = operand { value } else { nil }
        }
        guard constants.count == operands.count else {
            return .isIn(left.operand, .list(operands), comparison.folding)
        }
        let set = ValueSet(constants, comparison.folding)
        if case .slot(let slot, .string) = left.operand, let test = set.textTest { return .text(slot: slot, test) }
        return .isInSet(left.operand, set)
    }

    private func membership(_ comparison: Comparison, _ left: Typed, in right: Typed) throws -> Node {
        if case .constant(.one(.null)) = right.operand { return .constant(false) }
        guard right.type == .list || right.type.isText else {
            throw FetchPredicateError.typeMismatch(
                "IN in \(comparison.shown) needs a list or a text on its right, not \(right.type.name)")
        }
        if right.type != .list, right.type.isText, !right.type.isOpen, !left.type.isText {
            throw mismatch(comparison, left, right)
        }
        if right.operand.isSlotOfText, case .slot(let slot, _) = right.operand,
            case .constant(.one(.string(let text))) = left.operand
        {
            return .text(slot: slot, try TextTest(.contains, text, comparison.folding))
        }
        return .isIn(left.operand, right.operand, comparison.folding)
    }

    func search(_ comparison: Comparison, _ left: Typed, _ right: Typed) throws -> Node {
        let comparator = comparison.comparator
        let isMembership = comparator == .contains && left.type == .list
        guard isMembership || left.type.isText && (right.type.isText || left.type == .unknown) else {
            throw FetchPredicateError.typeMismatch(
                "\(comparator.rawValue) in \(comparison.shown) needs two texts, not "
                    + "\(left.type.name) and \(right.type.name)")
        }
        if case .constant(.one(let value)) = right.operand {
            if value.isNull { return .constant(false) }
            if case .string(let text) = value {
                let test = try TextTest(comparator, text, comparison.folding)
                if left.operand.isSlotOfText, case .slot(let slot, _) = left.operand {
                    return .text(slot: slot, test)
                }
                // CONTAINS isn't compiled to a test: its left side may be a list at run time, in which it finds an
                // element.
                if comparator != .contains { return .test(left.operand, test) }
            }
        }
        return .search(left.operand, comparator, right.operand, comparison.folding)
    }
}

extension CompiledPredicate.Operand {
    /// Whether the operand is an attribute whose bytes in a record are a text.
    fileprivate var isSlotOfText: Bool {
        switch self {
        case .slot(_, .string), .slot(_, .url): true
        default: false
        }
    }
}
