package import Values

/// The syntax tree of a predicate.
package indirect enum PredicateSyntax: Hashable, Sendable {
    case constant(Bool)
    case comparison(Comparison)
    case not(PredicateSyntax)
    /// Two or more, all of which must hold.
    case and([PredicateSyntax])
    /// Two or more, one of which must hold.
    case or([PredicateSyntax])
}

/// Two expressions and what is asked of them.
package struct Comparison: Hashable, Sendable {
    package var left: ExpressionSyntax
    package var comparator: Comparator
    package var folding: TextFolding
    package var right: ExpressionSyntax

    package init(
        _ left: ExpressionSyntax, _ comparator: Comparator, folding: TextFolding = [], _ right: ExpressionSyntax
    ) {
        self.left = left
        self.comparator = comparator
        self.folding = folding
        self.right = right
    }
}

/// What stands on a side of a comparison.
package indirect enum ExpressionSyntax: Hashable, Sendable {
    case value(Value)
    case attribute(String)
    case list([ExpressionSyntax])
}

/// The comparison operators, in their canonical form.
package enum Comparator: String, Hashable, Sendable, CaseIterable {
    case equal = "=="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
    case between = "BETWEEN"
    case isIn = "IN"
    case contains = "CONTAINS"
    case beginsWith = "BEGINSWITH"
    case endsWith = "ENDSWITH"

    /// Operators that look into a text.
    package var isTextSearch: Bool { self == .contains || self == .beginsWith || self == .endsWith }
}
