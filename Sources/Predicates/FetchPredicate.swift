public import Values

/// Which objects are wanted, in NSPredicate's format language.
///
///     try FetchPredicate("publisher == %@ AND price < %d", "早川書房", 2000)
public struct FetchPredicate: Hashable, Sendable {
    package let syntax: PredicateSyntax

    package init(_ syntax: PredicateSyntax) { self.syntax = syntax }

    /// Parses a format, its placeholders replaced by the arguments in order. O(length).
    /// Throws `FetchPredicateError` with the position and what was expected there.
    public init(_ format: String, _ arguments: any PredicateArgument...) throws {
        try self.init(format: format, argumentArray: arguments)
    }

    public init(format: String, argumentArray: [any PredicateArgument]) throws {
        var parser = try PredicateParser(format, argumentArray.map(\.predicateValues.expression))
        syntax = try parser.parse()
    }

    /// Whether values that are found by name match; a name that is missing is null.
    public func evaluate(with values: [String: Value]) -> Bool {
        var names: [String] = []
        let compiled = try? CompiledPredicate(syntax) { name in
            names.append(name)
            return (names.count - 1, nil)
        }
        return (try? compiled?.evaluate { values[names[$0]] ?? .null }) ?? false
    }
}

extension FetchPredicate: CustomStringConvertible {
    /// The canonical format, which parses to an equal predicate.
    public var description: String { syntax.description }
}
