extension PredicateSyntax {
    /// The parts of an AND and of ANDs inside it; for another predicate, the predicate itself.
    package var conjuncts: [PredicateSyntax] {
        guard case .and(let parts) = self else { return [self] }
        return parts.flatMap(\.conjuncts)
    }

    /// The parts of an OR; for another predicate, the predicate itself.
    package var disjuncts: [PredicateSyntax] {
        guard case .or(let parts) = self else { return [self] }
        return parts
    }

    /// Whether a condition holds for any expression or comparison in the predicate, at any depth.
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

    /// The predicate with variables replaced by expressions.
    func replacingVariables(_ variables: [String: ExpressionSyntax]) -> PredicateSyntax {
        mapped { $0.replacingVariable(of: variables) }
    }

    /// The predicate with renamed attributes; `name` returns the new name of an attribute, or nil to keep the old one.
    func renamingAttributes(_ name: (String) -> String?) -> PredicateSyntax { mapped { $0.renamingAttribute(name) } }

    /// Replaces each expression by the one that the body returns. If it returns nil, keeps the expression and descends
    /// into its parts.
    fileprivate func mapped(_ body: (ExpressionSyntax) -> ExpressionSyntax?) -> PredicateSyntax {
        switch self {
        case .constant: return self
        case .not(let inner): return .not(inner.mapped(body))
        case .and(let parts): return .and(parts.map { $0.mapped(body) })
        case .or(let parts): return .or(parts.map { $0.mapped(body) })
        case .comparison(var comparison):
            comparison.left = comparison.left.mapped(body)
            comparison.right = comparison.right.mapped(body)
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
        mapped { $0.replacingVariable(of: variables) }
    }

    /// The replacement for a variable, or a subquery with its variables replaced; nil for other expressions, whose
    /// parts are then searched.
    fileprivate func replacingVariable(of variables: [String: ExpressionSyntax]) -> ExpressionSyntax? {
        switch self {
        case .variable(let name): return variables[name]
        case .subquery(let collection, let variable, let predicate):
            // The subquery's variable hides an outer variable of the same name.
            let inner = variables.filter { $0.key != variable }
            return .subquery(
                collection.replacingVariables(variables), variable: variable, predicate.replacingVariables(inner))
        default: return nil
        }
    }

    /// The key path with its attribute renamed; nil if the attribute keeps its name, and for other expressions. An
    /// attribute's name may contain dots and so take several steps; the longest known name is used.
    fileprivate func renamingAttribute(_ name: (String) -> String?) -> ExpressionSyntax? {
        guard case .keyPath(.object, let steps) = self else { return nil }
        let names = steps.prefix { if case .name = $0 { true } else { false } }
        let texts = names.map { step in if case .name(let text) = step { text } else { "" } }
        for count in stride(from: texts.count, through: 1, by: -1) {
            let old = texts.prefix(count).joined(separator: ".")
            guard let new = name(old) else { continue }
            if new == old { return nil }
            let rest = steps.dropFirst(count).map { $0.mapped { $0.renamingAttribute(name) } }
            // The new name may be a path, too. A name with dots that was one step stays one.
            let parts = count == 1 && old.contains(".") ? [new] : new.split(separator: ".").map(String.init)
            return .keyPath(.object, parts.map { .name($0) } + rest)
        }
        return nil
    }

    fileprivate func mapped(_ body: (ExpressionSyntax) -> ExpressionSyntax?) -> ExpressionSyntax {
        if let new = body(self) { return new }
        switch self {
        case .value, .object, .variable: return self
        case .list(let elements): return .list(elements.map { $0.mapped(body) })
        case .call(let function, let arguments): return .call(function, arguments.map { $0.mapped(body) })
        case .keyPath(let base, let steps): return .keyPath(base.mapped(body), steps.map { $0.mapped(body) })
        case .operation(let sign, let left, let right): return .operation(sign, left.mapped(body), right.mapped(body))
        case .subquery(let collection, let variable, let predicate):
            return .subquery(collection.mapped(body), variable: variable, predicate.mapped(body))
        case .ternary(let predicate, let first, let second):
            return .ternary(predicate.mapped(body), first.mapped(body), second.mapped(body))
        }
    }
}

extension KeyPathStep {
    fileprivate func mapped(_ body: (ExpressionSyntax) -> ExpressionSyntax?) -> KeyPathStep {
        if case .index(let index) = self { .index(index.mapped(body)) } else { self }
    }
}
