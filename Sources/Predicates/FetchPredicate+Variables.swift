extension FetchPredicate {
    /// A variable that needs a value, and what the predicate says of the value.
    package struct Variable: Sendable {
        /// The dotted key path with which the variable is compared, if any.
        package var path: String?
        /// Whether the value must be a list.
        package var isList = false
    }

    /// The variables that need values, by name: those that SUBQUERY doesn't define. O(length).
    package var variables: [String: Variable] {
        var found: [String: Variable] = [:]
        /// The variables of SUBQUERY, with the paths to their collections.
        var defined: [String: String] = [:]
        func note(_ expression: ExpressionSyntax, _ other: ExpressionSyntax, isList: Bool) {
            let path = other.path(defined)
            for case .variable(let name) in expression.elements ?? [expression] {
                found[name, default: Variable()].path = found[name]?.path ?? path
                if isList && expression.elements == nil { found[name]?.isList = true }
            }
        }
        _ = syntax.contains { expression in
            switch expression {
            case .variable(let name): found[name, default: Variable()].isList = found[name]?.isList ?? false
            case .subquery(let collection, let variable, _): defined[variable] = collection.path(defined) ?? ""
            default: break
            }
            return false
        } orComparison: { comparison in
            let takesList = comparison.comparator == .isIn || comparison.comparator == .between
            note(comparison.right, comparison.left, isList: takesList)
            note(comparison.left, comparison.right, isList: false)
            return false
        }
        return found.filter { defined[$0.key] == nil }
    }
}

extension ExpressionSyntax {
    fileprivate var elements: [ExpressionSyntax]? {
        guard case .list(let elements) = self else { return nil }
        return elements
    }

    /// The dotted names of a key path that has only names and begins at the object, or at a variable of SUBQUERY.
    fileprivate func path(_ defined: [String: String]) -> String? {
        guard case .keyPath(let start, let steps) = self else { return nil }
        var names: [String] = []
        switch start {
        case .object: break
        case .variable(let name):
            guard let collection = defined[name], !collection.isEmpty else { return nil }
            names.append(collection)
        default: return nil
        }
        for step in steps {
            guard case .name(let name) = step else { return nil }
            names.append(name)
        }
        return names.joined(separator: ".")
    }
}
