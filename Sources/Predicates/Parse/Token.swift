internal import FetchIndexEssentials

/// A token of a predicate format.
struct Token: Equatable {
    enum Kind: Equatable {
        case name(String)
        case keyword(Keyword)
        /// A function's name with its colons.
        case function(String)
        case variable(String)
        case string(String)
        case integer(Int64)
        case double(Double)
        case decimal(Decimal)
        /// A placeholder, with the letters after %.
        case argument(String)
        case symbol(String)
        case end
    }

    let kind: Kind
    /// The position of the token's first Unicode scalar in the format, counted from 1.
    let position: Int
    /// The token as written in the format.
    let text: String
}

/// The reserved words, in any case. An attribute with such a name can be written with a leading `#`.
enum Keyword: String, CaseIterable {
    case and = "AND"
    case or = "OR"
    case not = "NOT"
    case `in` = "IN"
    case between = "BETWEEN"
    case contains = "CONTAINS"
    case beginsWith = "BEGINSWITH"
    case endsWith = "ENDSWITH"
    case like = "LIKE"
    case matches = "MATCHES"
    case any = "ANY"
    case some = "SOME"
    case all = "ALL"
    case none = "NONE"
    case true_ = "TRUE"
    case false_ = "FALSE"
    case yes = "YES"
    case no = "NO"
    case nil_ = "NIL"
    case null = "NULL"
    case self_ = "SELF"
    case truePredicate = "TRUEPREDICATE"
    case falsePredicate = "FALSEPREDICATE"
    case cast = "CAST"
    case function = "FUNCTION"
    case subquery = "SUBQUERY"
    case ternary = "TERNARY"

    private static let words = Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue, $0) })
    private static let longest = allCases.map(\.rawValue.utf8.count).max() ?? 0

    /// Finds a keyword in any case; nil for other words.
    init?(_ word: String) {
        guard word.utf8.count <= Self.longest, word.utf8.allSatisfy({ $0 < 0x80 }),
            let keyword = Self.words[word.uppercased()]
        else { return nil }
        self = keyword
    }
}
