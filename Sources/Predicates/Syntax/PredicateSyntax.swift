package import FetchIndexValues

/// The syntax tree of a predicate.
package indirect enum PredicateSyntax: Hashable, Sendable {
    case constant(Bool)
    case comparison(Comparison)
    case not(PredicateSyntax)
    /// All of two or more predicates hold.
    case and([PredicateSyntax])
    /// At least one of two or more predicates holds.
    case or([PredicateSyntax])
}

/// A comparison: two expressions with an operator between them.
package struct Comparison: Hashable, Sendable {
    /// ANY, ALL or NONE of the elements of the list on the left; nil to compare the left side itself.
    package var quantifier: Quantifier?
    package var left: ExpressionSyntax
    package var comparator: Comparator
    package var folding: TextFolding
    package var right: ExpressionSyntax

    package init(
        _ left: ExpressionSyntax, _ comparator: Comparator, folding: TextFolding = [], _ right: ExpressionSyntax,
        quantifier: Quantifier? = nil
    ) {
        self.quantifier = quantifier
        self.left = left
        self.comparator = comparator
        self.folding = folding
        self.right = right
    }
}

package enum Quantifier: String, Hashable, Sendable, CaseIterable {
    case any = "ANY"
    case all = "ALL"
    case none = "NONE"
}

/// The comparison operators in their canonical spelling.
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
    case like = "LIKE"
    case matches = "MATCHES"

    /// Whether the operator searches a text: CONTAINS, BEGINSWITH, ENDSWITH, LIKE or MATCHES.
    package var isTextSearch: Bool {
        switch self {
        case .contains, .beginsWith, .endsWith, .like, .matches: true
        default: false
        }
    }
}
