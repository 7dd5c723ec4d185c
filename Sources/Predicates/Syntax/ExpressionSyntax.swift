package import FetchIndexValues

/// An expression: a side of a comparison, or a part of such a side.
package indirect enum ExpressionSyntax: Hashable, Sendable {
    case value(Value)
    /// SELF, the object on which the predicate is evaluated.
    case object
    /// $NAME, a variable of SUBQUERY or one that is replaced before evaluation.
    case variable(String)
    case list([ExpressionSyntax])
    /// A key path: steps that begin at the value of an expression. Steps from `object` read its attributes.
    case keyPath(ExpressionSyntax, [KeyPathStep])
    case operation(ArithmeticOperator, ExpressionSyntax, ExpressionSyntax)
    case call(PredicateFunction, [ExpressionSyntax])
    /// SUBQUERY: the elements of a collection for which a predicate holds, with the element as the variable.
    case subquery(ExpressionSyntax, variable: String, PredicateSyntax)
    case ternary(PredicateSyntax, ExpressionSyntax, ExpressionSyntax)

    /// An attribute of SELF.
    package static func attribute(_ name: String) -> ExpressionSyntax { .keyPath(.object, [.name(name)]) }
}

package enum KeyPathStep: Hashable, Sendable {
    case name(String)
    case collection(CollectionOperator)
    /// An element of a list, by its number counted from 0, or of a dictionary, by its key.
    case index(ExpressionSyntax)
    case first
    case last
    case size
}

/// The collection operators of key paths, such as @count and @sum.
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

    /// The operator's precedence; a greater one binds more tightly. Signs have `signPrecedence`.
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

/// The functions of the format language by their canonical names.
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
    /// The prefix operator -.
    case negative = "-"
    /// The prefix operator ~, which can also be called by this name.
    case onesComplement = "onesComplement:"

    /// The allowed number of arguments. An aggregate function takes one list, or one or more values.
    var argumentCount: ClosedRange<Int> {
        switch self {
        case .sum, .count, .min, .max, .average, .median, .mode, .stddev: 1...Int.max
        case .modulus: 2...2
        case .now: 0...0
        default: 1...1
        }
    }

    /// Finds a function by its name; the last colon may be omitted. Nil for other names.
    init?(written name: String) {
        guard name != "-", let function = Self(rawValue: name) ?? Self(rawValue: name + ":") else { return nil }
        self = function
    }

    /// The functions for which an operator exists, such as add:to:.
    static let operators: [String: ArithmeticOperator] = [
        "add:to:": .add, "from:subtract:": .subtract, "multiply:by:": .multiply, "divide:by:": .divide,
        "raise:toPower:": .power, "bitwiseAnd:with:": .and, "bitwiseOr:with:": .or, "bitwiseXor:with:": .xor,
        "leftshift:by:": .shiftLeft, "rightshift:by:": .shiftRight,
    ]
}
