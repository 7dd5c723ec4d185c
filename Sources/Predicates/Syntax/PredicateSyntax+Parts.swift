extension PredicateSyntax {
    /// What must hold altogether: the parts of AND, or the predicate itself.
    package var conjuncts: [PredicateSyntax] {
        guard case .and(let parts) = self else { return [self] }
        return parts
    }

    /// Of which one must hold: the parts of OR, or the predicate itself.
    package var disjuncts: [PredicateSyntax] {
        guard case .or(let parts) = self else { return [self] }
        return parts
    }

    /// Whether one of its expressions or comparisons, at any depth, is such.
    func contains(
        _ isSuch: (ExpressionSyntax) -> Bool, orComparison isSuchComparison: (Comparison) -> Bool = { _ in false }
    ) -> Bool {
        switch self {
        case .constant: false
        case .not(let inner): inner.contains(isSuch, orComparison: isSuchComparison)
        case .and(let parts), .or(let parts):
            parts.contains { $0.contains(isSuch, orComparison: isSuchComparison) }
        case .comparison(let comparison):
            isSuchComparison(comparison) || comparison.left.contains(isSuch, isSuchComparison)
                || comparison.right.contains(isSuch, isSuchComparison)
        }
    }

    /// With expressions in the place of variables.
    func replacingVariables(_ variables: [String: ExpressionSyntax]) -> PredicateSyntax {
        switch self {
        case .constant: return self
        case .not(let inner): return .not(inner.replacingVariables(variables))
        case .and(let parts): return .and(parts.map { $0.replacingVariables(variables) })
        case .or(let parts): return .or(parts.map { $0.replacingVariables(variables) })
        case .comparison(var comparison):
            comparison.left = comparison.left.replacingVariables(variables)
            comparison.right = comparison.right.replacingVariables(variables)
            return .comparison(comparison)
        }
    }
}

extension ExpressionSyntax {
    fileprivate func contains(_ isSuch: (ExpressionSyntax) -> Bool, _ isSuchComparison: (Comparison) -> Bool) -> Bool {
        func contains(_ expression: ExpressionSyntax) -> Bool { expression.contains(isSuch, isSuchComparison) }
        if isSuch(self) { return true }
        switch self {
        case .value, .object, .variable: return false
        case .list(let elements), .call(_, let elements): return elements.contains(where: contains)
        case .keyPath(let base, let steps):
            return contains(base)
                || steps.contains { step in
                    if case .index(let index) = step { contains(index) } else { false }
                }
        case .operation(_, let left, let right): return contains(left) || contains(right)
        case .subquery(let collection, _, let predicate):
            return contains(collection) || predicate.contains(isSuch, orComparison: isSuchComparison)
        case .ternary(let predicate, let first, let second):
            return predicate.contains(isSuch, orComparison: isSuchComparison) || contains(first) || contains(second)
        }
    }

    func replacingVariables(_ variables: [String: ExpressionSyntax]) -> ExpressionSyntax {
        switch self {
        case .value, .object: return self
        case .variable(let name): return variables[name] ?? self
        case .list(let elements): return .list(elements.map { $0.replacingVariables(variables) })
        case .call(let function, let arguments):
            return .call(function, arguments.map { $0.replacingVariables(variables) })
        case .keyPath(let base, let steps):
            return .keyPath(
                base.replacingVariables(variables),
                steps.map { step in
                    guard case .index(let index) = step else { return step }
                    return .index(index.replacingVariables(variables))
                })
        case .operation(let sign, let left, let right):
            return .operation(sign, left.replacingVariables(variables), right.replacingVariables(variables))
        case .subquery(let collection, let variable, let predicate):
            // Inside, the name is the element's.
            let inner = variables.filter { $0.key != variable }
            return .subquery(
                collection.replacingVariables(variables), variable: variable, predicate.replacingVariables(inner))
        case .ternary(let predicate, let first, let second):
            return .ternary(
                predicate.replacingVariables(variables), first.replacingVariables(variables),
                second.replacingVariables(variables))
        }
    }
}
