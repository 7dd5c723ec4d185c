package import FetchIndexValues

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

/// Two expressions and the operator between them.
package struct Comparison: Hashable, Sendable {
    /// Which elements of a list on the left must satisfy the operator; nil if the left side itself must.
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
    case like = "LIKE"
    case matches = "MATCHES"

    /// Whether the operator looks into a text.
    package var isTextSearch: Bool {
        switch self {
        case .contains, .beginsWith, .endsWith, .like, .matches: true
        default: false
        }
    }
}
