package import FetchIndexValues

/// One side of a comparison.
package indirect enum ExpressionSyntax: Hashable, Sendable {
    case value(Value)
    /// SELF: what is evaluated.
    case object
    /// $NAME, whose value comes from substitution or from SUBQUERY.
    case variable(String)
    case list([ExpressionSyntax])
    /// Steps from a value to others; from `object` they are attributes.
    case keyPath(ExpressionSyntax, [KeyPathStep])
    case operation(ArithmeticOperator, ExpressionSyntax, ExpressionSyntax)
    case call(PredicateFunction, [ExpressionSyntax])
    /// The elements of a collection for which a predicate on the variable holds.
    case subquery(ExpressionSyntax, variable: String, PredicateSyntax)
    case ternary(PredicateSyntax, ExpressionSyntax, ExpressionSyntax)

    /// An attribute of SELF.
    package static func attribute(_ name: String) -> ExpressionSyntax { .keyPath(.object, [.name(name)]) }
}

package enum KeyPathStep: Hashable, Sendable {
    case name(String)
    case collection(CollectionOperator)
    /// An element, by number from 0 in a list, by text in a dictionary.
    case index(ExpressionSyntax)
    case first
    case last
    case size
}

/// Operators on the elements of a key path.
package enum CollectionOperator: String, Hashable, Sendable, CaseIterable {
    case count, sum, avg, min, max
}

package enum ArithmeticOperator: String, Hashable, Sendable, CaseIterable {
    case or = "|"
    case xor = "^"
    case and = "&"
    case shiftLeft = "<<"
    case shiftRight = ">>"
    case add = "+"
    case subtract = "-"
    case multiply = "*"
    case divide = "/"
    case power = "**"

    /// The operator's precedence, greater if it binds more tightly; signs have `signPrecedence`.
    var precedence: Int {
        switch self {
        case .or: 1
        case .xor: 2
        case .and: 3
        case .shiftLeft, .shiftRight: 4
        case .add, .subtract: 5
        case .multiply, .divide: 6
        case .power: 8
        }
    }

    static let signPrecedence = 7
}

/// The functions of the format language by their canonical names, with a colon for each named argument.
package enum PredicateFunction: String, Hashable, Sendable, CaseIterable {
    case sum = "sum:"
    case count = "count:"
    case min = "min:"
    case max = "max:"
    case average = "average:"
    case median = "median:"
    case mode = "mode:"
    case stddev = "stddev:"
    case modulus = "modulus:by:"
    case sqrt = "sqrt:"
    case log = "log:"
    case ln = "ln:"
    case exp = "exp:"
    case floor = "floor:"
    case ceiling = "ceiling:"
    case abs = "abs:"
    case trunc = "trunc:"
    case uppercase = "uppercase:"
    case lowercase = "lowercase:"
    case length = "length:"
    case canonical = "canonical:"
    case now = "now"
    /// The signs - and ~ before an operand.
    case negative = "-"
    case onesComplement = "onesComplement:"

    /// The number of arguments; aggregates take a list or any number of values.
    var argumentCount: ClosedRange<Int> {
        switch self {
        case .sum, .count, .min, .max, .average, .median, .mode, .stddev: 1...Int.max
        case .modulus: 2...2
        case .now: 0...0
        default: 1...1
        }
    }

    /// Finds a function by its name as written: with colons, or without if it has only one.
    init?(written name: String) {
        guard name != "-", let function = Self(rawValue: name) ?? Self(rawValue: name + ":") else { return nil }
        self = function
    }

    /// Functions that are equivalent to an operator.
    static let operators: [String: ArithmeticOperator] = [
        "add:to:": .add, "from:subtract:": .subtract, "multiply:by:": .multiply, "divide:by:": .divide,
        "raise:toPower:": .power, "bitwiseAnd:with:": .and, "bitwiseOr:with:": .or, "bitwiseXor:with:": .xor,
        "leftshift:by:": .shiftLeft, "rightshift:by:": .shiftRight,
    ]
}
