public import FetchIndexValues

/// A condition on objects, in NSPredicate's format language.
///
///     try FetchPredicate("publisher == %@ AND price < %d", "早川書房", 2000)
public struct FetchPredicate: Hashable, Sendable {
    package let syntax: PredicateSyntax

    package init(_ syntax: PredicateSyntax) { self.syntax = syntax }

    /// A predicate that holds for all objects, or for none.
    public init(value: Bool) { syntax = .constant(value) }

    /// A predicate that holds if all given predicates hold. If none is given, it holds for all objects.
    public init(allOf predicates: [FetchPredicate]) { syntax = Self.combined(predicates, .constant(true)) { .and($0) } }

    /// A predicate that holds if at least one of the given predicates holds. If none is given, it doesn't hold for any
    /// object.
    public init(anyOf predicates: [FetchPredicate]) { syntax = Self.combined(predicates, .constant(false)) { .or($0) } }

    private static func combined(
        _ predicates: [FetchPredicate], _ none: PredicateSyntax, _ combine: ([PredicateSyntax]) -> PredicateSyntax
    ) -> PredicateSyntax {
        predicates.count > 1 ? combine(predicates.map(\.syntax)) : predicates.first?.syntax ?? none
    }

    /// Parses a format, and replaces its placeholders by the arguments, in order. O(length); an argument that is a set
    /// is also sorted. Throws `FetchPredicateError`; for a syntax error it has the position, what was found there, and
    /// what was expected.
    public init(_ format: String, _ arguments: any PredicateArgument...) throws {
        try self.init(format: format, argumentArray: arguments)
    }

    /// Parses a format like `init(_:_:)`, with the label of `NSPredicate`.
    public init(format: String, _ arguments: any PredicateArgument...) throws {
        try self.init(format: format, argumentArray: arguments)
    }

    /// Parses a format, with the arguments for its placeholders in an array.
    public init(format: String, argumentArray: [any PredicateArgument]) throws {
        var parser = try PredicateParser(format, argumentArray)
        syntax = try parser.parse()
    }

    /// Whether the predicate holds for an object whose attributes have these values, by name; a missing attribute is
    /// null. The predicate is compiled for each call. Throws if a variable has no value, a regular expression doesn't
    /// compile, or a pattern takes too much time or memory on a text.
    public func evaluate(with values: [String: Value]) throws -> Bool {
        try evaluate(with: .dictionary(values.mapValues { .one($0) }))
    }

    /// Whether the predicate holds for a value, a list or a dictionary.
    public func evaluate(with object: PredicateValue) throws -> Bool {
        try CompiledPredicate.evaluate(syntax, on: object)
    }

    /// The predicate with values in place of variables such as $NAME. Variables without a value stay. Throws if a value
    /// is a dictionary, or a list with dictionaries. O(length).
    public func withSubstitutionVariables(_ variables: [String: any PredicateArgument]) throws -> FetchPredicate {
        var expressions: [String: ExpressionSyntax] = [:]
        for (name, argument) in variables {
            guard let expression = argument.predicateValue.expression else {
                throw FetchPredicateError.typeMismatch("a dictionary cannot replace the variable $\(name)")
            }
            expressions[name] = expression
        }
        return FetchPredicate(syntax.replacingVariables(expressions))
    }
}

extension FetchPredicate: CustomStringConvertible {
    /// The canonical format. For a predicate that was parsed, this format parses to an equal predicate, unless it has a
    /// NaN, or is too long or nested too deeply: it may have more parentheses, for example, than the parsed format.
    public var description: String { syntax.description }
}

extension FetchPredicate {
    /// A predicate that holds if both predicates hold.
    public static func && (left: FetchPredicate, right: FetchPredicate) -> FetchPredicate {
        FetchPredicate(.and(left.syntax.conjuncts + right.syntax.conjuncts))
    }

    /// A predicate that holds if at least one of the predicates holds.
    public static func || (left: FetchPredicate, right: FetchPredicate) -> FetchPredicate {
        FetchPredicate(.or(left.syntax.disjuncts + right.syntax.disjuncts))
    }

    public static prefix func ! (predicate: FetchPredicate) -> FetchPredicate { FetchPredicate(.not(predicate.syntax)) }

    /// The predicate with renamed attributes; `name` returns the new name of an attribute, or nil to keep the old one.
    package func renamingAttributes(_ name: (String) -> String?) -> FetchPredicate {
        FetchPredicate(syntax.renamingAttributes(name))
    }

    /// The names in all key paths of the predicate.
    package var usedNames: Set<String> {
        var names: Set<String> = []
        _ = syntax.contains { expression in
            if case .keyPath(_, let steps) = expression {
                for case .name(let name) in steps { names.insert(name) }
            }
            return false
        }
        return names
    }

    /// The reason why orders with this predicate can't be cached; nil if they can.
    package var uncacheableReason: String? {
        syntax.contains { $0 == .call(.now, []) } ? "now() in the predicate depends on the current time" : nil
    }

    /// The versions that affect the predicate's results: of ICU, and of evaluation rules that have changed.
    package var versions: [String] {
        let hasFoldedPatterns = syntax.contains { _ in
            false
        } orComparison: {
            $0.comparator == .like && !$0.folding.isEmpty
        }
        let mayCalculateExactly = syntax.contains {
            $0.calculatesMeans
        } orComparison: {
            $0.withDecimalLiterals != nil
        }
        return (dependsOnICU ? [TextFolding.version] : []) + (hasFoldedPatterns ? ["LIKE 2"] : [])
            + (mayCalculateExactly ? [Self.decimalRules] : [])
    }

    /// The version of the rules for decimals. In the first version, averages and medians of decimals were doubles.
    package static let decimalRules = "decimals 2"

    /// Whether the predicate's results depend on ICU's version and Unicode tables.
    private var dependsOnICU: Bool {
        let functions: Set<PredicateFunction> = [.uppercase, .lowercase, .length, .canonical]
        return syntax.contains {
            if case .call(let function, _) = $0 { functions.contains(function) } else { false }
        } orComparison: {
            !$0.folding.isEmpty || $0.comparator == .like || $0.comparator == .matches
        }
    }
}
