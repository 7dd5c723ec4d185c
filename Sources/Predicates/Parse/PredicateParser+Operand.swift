internal import FetchIndexValues

// The operands of comparisons, by precedence climbing:
//
//     operand  = unary { arithmetic operator operand }
//     unary    = ( "-" | "~" ) operand | primary { step }
//     primary  = attribute | "@" collection operator | $NAME | SELF | literal | placeholder | list | call
//              | "(" operand or predicate ")"
//     step     = "." name | ".%K" | ".@" collection operator | "[" ( FIRST | LAST | SIZE | operand ) "]"
//
// The operand of a sign ends before any arithmetic operator except `**`, which binds more tightly than the sign. A call
// is a function, SUBQUERY, TERNARY or CAST. CAST and a predicate in parentheses have no steps.

extension PredicateParser {
    mutating func expression(_ precedence: Int = 0) throws(FetchPredicateError) -> ExpressionSyntax {
        let start = token
        guard case .operand(let expression) = try operand(precedence) else {
            throw unexpected("an attribute or a value", at: start)
        }
        return expression
    }

    /// Parses an operand whose operators have at least a given precedence, or a predicate in parentheses.
    mutating func operand(_ precedence: Int = 0) throws(FetchPredicateError) -> Term {
        let outerReach = reach
        reach = depth
        defer { reach = max(reach, outerReach) }
        let first = try unary()
        guard case .operand(var left) = first else { return first }
        while let sign = arithmeticOperator, sign.precedence >= precedence {
            // Each operator deepens the tree by a level, although the text isn't nested.
            try deepen()
            try enter()
            try advance()
            let right = try expression(sign == .power ? ArithmeticOperator.signPrecedence : sign.precedence + 1)
            leave()
            left = .operation(sign, left, right)
        }
        return .operand(left)
    }

    private var arithmeticOperator: ArithmeticOperator? {
        guard case .symbol(let symbol) = token.kind else { return nil }
        return ArithmeticOperator(rawValue: symbol)
    }

    private mutating func unary() throws(FetchPredicateError) -> Term {
        let function: PredicateFunction
        switch token.kind {
        case .symbol("-"): function = .negative
        case .symbol("~"): function = .onesComplement
        default: return try primary()
        }
        try advance()
        if function == .negative, let number = try negativeNumber() { return .operand(number) }
        try enter()
        let inner = try expression(ArithmeticOperator.signPrecedence)
        leave()
        if function == .negative, case .value(let value) = inner, let number = value.negated {
            return .operand(.value(number))
        }
        return .operand(.call(function, [inner]))
    }

    /// Parses the digits of the least integer after its sign: without the sign, they exceed the greatest integer. Nil
    /// if another token follows the sign.
    private mutating func negativeNumber() throws(FetchPredicateError) -> ExpressionSyntax? {
        guard token.kind == .integer(.min) else { return nil }
        let start = token
        try advance()
        // The sign can't belong to the literal if a power follows, which binds more tightly than the sign.
        if token.kind == .symbol("**") { throw unexpected("a number that fits 64 bits", at: start) }
        return .value(.integer(.min))
    }

    private mutating func primary() throws(FetchPredicateError) -> Term {
        switch token.kind {
        case .symbol("("):
            try enter()
            try advance()
            let inner = try term()
            try require(")")
            leave()
            guard case .operand(let expression) = inner else { return inner }
            return .operand(try steps(from: expression))
        case .symbol("{"): return .operand(try steps(from: try list()))
        case .function(let name): return .operand(try steps(from: try call(name)))
        case .keyword(.subquery): return .operand(try steps(from: try subquery()))
        case .keyword(.ternary): return .operand(try steps(from: try ternary()))
        case .keyword(.cast): return .operand(try cast())
        case .argument("@"): return .operand(try steps(from: try argumentPath()))
        default: return .operand(try steps(from: try atom()))
        }
    }

    /// Parses an operand that begins with a single token, such as a name, a literal or a placeholder.
    private mutating func atom() throws(FetchPredicateError) -> ExpressionSyntax {
        let expression: ExpressionSyntax
        switch token.kind {
        case .name(let name): expression = .attribute(name)
        case .variable(let name): expression = .variable(name)
        case .string(let text): expression = .value(.string(text))
        case .integer(.min): throw unexpected("a number that fits 64 bits")
        case .integer(let number): expression = .value(.integer(number))
        case .double(let number): expression = .value(.double(number))
        case .decimal(let number): expression = .value(.decimal(number))
        case .argument(let letters): expression = try argument(letters)
        case .keyword(.true_), .keyword(.yes): expression = .value(.boolean(true))
        case .keyword(.false_), .keyword(.no): expression = .value(.boolean(false))
        case .keyword(.nil_), .keyword(.null): expression = .value(.null)
        case .keyword(.self_): expression = .object
        case .symbol("@"): return .object  // `steps` reads the collection operator, which applies to SELF
        default: throw unexpected("an attribute or a value")
        }
        try advance()
        return expression
    }

    // MARK: Key paths

    mutating func steps(from base: ExpressionSyntax) throws(FetchPredicateError) -> ExpressionSyntax {
        var steps: [KeyPathStep] = []
        if token.kind == .symbol("@") { steps.append(try collectionOperator()) }
        while true {
            guard steps.count <= Self.maximumDepth else {
                throw unexpected("at most \(Self.maximumDepth) steps of a key path")
            }
            if try skip(.symbol(".")) {
                switch token.kind {
                case .symbol("@"): steps.append(try collectionOperator())
                case .argument("K"):
                    if case .keyPath(_, let more) = try argument("K") { steps += more }
                    try advance()
                default: steps.append(.name(try stepName()))
                }
            } else if token.kind == .symbol("[") {
                steps.append(try bracket())
            } else {
                break
            }
        }
        if steps.isEmpty { return base }
        guard case .keyPath(let inner, let first) = base else { return .keyPath(base, steps) }
        return .keyPath(inner, first + steps)
    }

    /// Parses the name after a dot. Keywords are ordinary names in this place.
    mutating func stepName() throws(FetchPredicateError) -> String {
        let name: String
        switch token.kind {
        case .name(let text): name = text
        case .keyword: name = token.text
        default: throw unexpected("the name of an attribute")
        }
        try advance()
        return name
    }

    private mutating func collectionOperator() throws(FetchPredicateError) -> KeyPathStep {
        try require("@")
        guard case .name(let name) = token.kind, let collection = CollectionOperator(rawValue: name) else {
            throw unexpected("count, sum, avg, min or max")
        }
        try advance()
        return .collection(collection)
    }

    private mutating func bracket() throws(FetchPredicateError) -> KeyPathStep {
        try enter()
        try require("[")
        let step: KeyPathStep
        var ahead = lexer
        if case .name(let name) = token.kind, !token.text.hasPrefix("#"), let mark = KeyPathStep(mark: name),
            try ahead.nextToken().kind == .symbol("]")
        {
            try advance()
            step = mark
        } else {
            step = .index(try expression())
        }
        try require("]")
        leave()
        return step
    }

    // MARK: Lists and calls

    private mutating func list() throws(FetchPredicateError) -> ExpressionSyntax {
        try enter()
        try require("{")
        let elements = try elements(closing: "}")
        leave()
        return .list(elements)
    }

    private mutating func elements(closing: String) throws(FetchPredicateError) -> [ExpressionSyntax] {
        var elements: [ExpressionSyntax] = []
        if try skip(.symbol(closing)) { return elements }
        repeat { elements.append(try expression()) } while try skip(.symbol(","))
        guard try skip(.symbol(closing)) else { throw unexpected("\",\" or \"\(closing)\"") }
        return elements
    }

    private mutating func call(_ name: String) throws(FetchPredicateError) -> ExpressionSyntax {
        let sign = PredicateFunction.operators[name]
        let function = PredicateFunction(written: name)
        guard sign != nil || function != nil else { throw unexpected("a function, like sum: or lowercase:") }
        let start = token
        try enter()
        try advance()
        try require("(")
        let arguments = try elements(closing: ")")
        leave()
        let count = sign == nil ? function?.argumentCount ?? 0...0 : 2...2
        guard count.contains(arguments.count) else {
            let most = count.upperBound == .max ? " or more" : ""
            throw unexpected("\(name) with \(count.lowerBound)\(most) arguments, not \(arguments.count),", at: start)
        }
        if let sign { return .operation(sign, arguments[0], arguments[1]) }
        return .call(function ?? .now, arguments)
    }

    /// Parses SUBQUERY(collection, $variable, predicate).
    private mutating func subquery() throws(FetchPredicateError) -> ExpressionSyntax {
        try enter()
        try advance()
        try require("(")
        let collection = try expression()
        try require(",")
        guard case .variable(let variable) = token.kind else { throw unexpected("a variable, like $x") }
        try advance()
        try require(",")
        let predicate = try predicate()
        try require(")")
        leave()
        return .subquery(collection, variable: variable, predicate)
    }

    /// Parses TERNARY(predicate, value if it holds, value if not).
    private mutating func ternary() throws(FetchPredicateError) -> ExpressionSyntax {
        try enter()
        try advance()
        try require("(")
        let predicate = try predicate()
        try require(",")
        let first = try expression()
        try require(",")
        let second = try expression()
        try require(")")
        leave()
        return .ternary(predicate, first, second)
    }
}

extension KeyPathStep {
    /// Makes the step for [FIRST], [LAST] or [SIZE], in any case; nil for other names.
    init?(mark: String) {
        switch mark.uppercased() {
        case "FIRST": self = .first
        case "LAST": self = .last
        case "SIZE": self = .size
        default: return nil
        }
    }
}
