public import FetchIndexPredicates
internal import FetchIndexValues

/// A predicate on the objects of a class, built from key paths with operators. The compiler checks names and types.
///
///     request.predicate = FetchPredicate(\Book.price < 2000 && (\Book.title).contains("影", .caseInsensitive))
///
/// Texts are searched by methods of a key path in parentheses: `contains`, `hasPrefix`, `hasSuffix`, `isLike`,
/// `matches`; `isIn` and `isBetween` are also for other attributes.
public struct ObjectPredicate<Object: ManagedObject>: Sendable {
    let syntax: PredicateSyntax

    init(_ syntax: PredicateSyntax) { self.syntax = syntax }

    fileprivate init<Wrapped>(
        _ keyPath: KeyPath<Object, Wrapped>, _ comparator: Comparator, folding: TextFolding = [],
        _ right: ExpressionSyntax
    ) {
        let left = ExpressionSyntax.keyPath(.object, Object.attributeNames(of: keyPath).map { .name($0) })
        self.init(.comparison(Comparison(left, comparator, folding: folding, right)))
    }

    /// A predicate that holds if both predicates hold.
    public static func && (left: ObjectPredicate, right: ObjectPredicate) -> ObjectPredicate {
        ObjectPredicate(.and(left.syntax.conjuncts + right.syntax.conjuncts))
    }

    /// A predicate that holds if at least one of the predicates holds.
    public static func || (left: ObjectPredicate, right: ObjectPredicate) -> ObjectPredicate {
        ObjectPredicate(.or(left.syntax.disjuncts + right.syntax.disjuncts))
    }

    public static prefix func ! (predicate: ObjectPredicate) -> ObjectPredicate {
        ObjectPredicate(.not(predicate.syntax))
    }
}

extension FetchPredicate {
    /// Converts a predicate that was made of key paths: `FetchPredicate(\Book.price < 2000)`.
    public init<Object: ManagedObject>(_ predicate: ObjectPredicate<Object>) { self.init(predicate.syntax) }
}

// MARK: Comparisons

// These operators, and the functions below, trap unless the key path is that of an `@Attribute`.

public func == <Object: ManagedObject, Wrapped: AttributeValue>(
    left: KeyPath<Object, Wrapped>, right: Wrapped
) -> ObjectPredicate<Object> { ObjectPredicate(left, .equal, .value(right.attributeValue)) }

public func != <Object: ManagedObject, Wrapped: AttributeValue>(
    left: KeyPath<Object, Wrapped>, right: Wrapped
) -> ObjectPredicate<Object> { ObjectPredicate(left, .notEqual, .value(right.attributeValue)) }

public func < <Object: ManagedObject, Wrapped: AttributeValue>(
    left: KeyPath<Object, Wrapped>, right: Wrapped
) -> ObjectPredicate<Object> { ObjectPredicate(left, .less, .value(right.attributeValue)) }

public func <= <Object: ManagedObject, Wrapped: AttributeValue>(
    left: KeyPath<Object, Wrapped>, right: Wrapped
) -> ObjectPredicate<Object> { ObjectPredicate(left, .lessOrEqual, .value(right.attributeValue)) }

public func > <Object: ManagedObject, Wrapped: AttributeValue>(
    left: KeyPath<Object, Wrapped>, right: Wrapped
) -> ObjectPredicate<Object> { ObjectPredicate(left, .greater, .value(right.attributeValue)) }

public func >= <Object: ManagedObject, Wrapped: AttributeValue>(
    left: KeyPath<Object, Wrapped>, right: Wrapped
) -> ObjectPredicate<Object> { ObjectPredicate(left, .greaterOrEqual, .value(right.attributeValue)) }

extension KeyPath where Root: ManagedObject, Value: AttributeValue {
    /// A predicate that holds if the attribute equals one of some values.
    public func isIn(_ values: [Value]) -> ObjectPredicate<Root> {
        ObjectPredicate(self, .isIn, .list(values.map { .value($0.attributeValue) }))
    }

    /// A predicate that holds if the attribute is within a range, including both bounds.
    public func isBetween(_ low: Value, _ high: Value) -> ObjectPredicate<Root> {
        ObjectPredicate(self, .between, .list([.value(low.attributeValue), .value(high.attributeValue)]))
    }
}

// MARK: Texts

/// The types of text attributes, optional or not.
public protocol TextAttributeValue: AttributeValue {}

extension String: TextAttributeValue {}
extension Optional: TextAttributeValue where Wrapped: TextAttributeValue {}

extension KeyPath where Root: ManagedObject, Value: TextAttributeValue {
    private func search(_ comparator: Comparator, _ text: String, _ folding: TextFolding) -> ObjectPredicate<Root> {
        ObjectPredicate(self, comparator, folding: folding, .value(.string(text)))
    }

    /// A predicate that holds if the text contains another one (CONTAINS).
    public func contains(_ text: String, _ folding: TextFolding = []) -> ObjectPredicate<Root> {
        search(.contains, text, folding)
    }

    /// A predicate that holds if the text begins with another one (BEGINSWITH).
    public func hasPrefix(_ text: String, _ folding: TextFolding = []) -> ObjectPredicate<Root> {
        search(.beginsWith, text, folding)
    }

    /// A predicate that holds if the text ends with another one (ENDSWITH).
    public func hasSuffix(_ text: String, _ folding: TextFolding = []) -> ObjectPredicate<Root> {
        search(.endsWith, text, folding)
    }

    /// A predicate that holds if the whole text matches a pattern (LIKE): `?` is one character, `*` any number of them.
    public func isLike(_ pattern: String, _ folding: TextFolding = []) -> ObjectPredicate<Root> {
        search(.like, pattern, folding)
    }

    /// A predicate that holds if the whole text matches a regular expression of ICU (MATCHES).
    public func matches(_ pattern: String, _ folding: TextFolding = []) -> ObjectPredicate<Root> {
        search(.matches, pattern, folding)
    }

    /// A predicate that holds if the text equals another one, ignoring case or diacritics as `folding` says.
    public func isEqual(to text: String, _ folding: TextFolding) -> ObjectPredicate<Root> {
        search(.equal, text, folding)
    }
}
