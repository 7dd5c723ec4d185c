internal import Values

/// A recursive descent parser of the format language. NOT binds tighter than AND, AND than OR.
///
///     predicate   = conjunction { OR conjunction }
///     conjunction = negation { AND negation }
///     negation    = NOT negation | "(" predicate ")" | TRUEPREDICATE | FALSEPREDICATE | comparison
///     comparison  = expression operator [ "[" c d "]" ] expression
struct PredicateParser {
    /// Deeper nesting is refused: it would be somebody's attack on the stack.
    static let maximumDepth = 200

    private var lexer: Lexer
    private var token: Token
    private var arguments: ArraySlice<ExpressionSyntax>
    private var depth = 0

    init(_ format: String, _ arguments: [ExpressionSyntax]) throws(FetchPredicateError) {
        lexer = Lexer(format)
        token = try lexer.nextToken()
        self.arguments = arguments[...]
    }

    mutating func parse() throws(FetchPredicateError) -> PredicateSyntax {
        let predicate = try predicate()
        guard token.kind == .end else { throw unexpected("AND, OR or the end") }
        guard arguments.isEmpty else { throw .unusedArguments(arguments.count) }
        return predicate
    }

    // MARK: Tokens

    private func unexpected(_ expected: String) -> FetchPredicateError {
        .unexpected(
            position: token.position, found: token.kind == .end ? "the end" : "\"\(token.text)\"", expected: expected)
    }

    private mutating func advance() throws(FetchPredicateError) { token = try lexer.nextToken() }

    private mutating func skip(_ kind: Token.Kind) throws(FetchPredicateError) -> Bool {
        guard token.kind == kind else { return false }
        try advance()
        return true
    }

    private mutating func skip(_ symbol: String, or keyword: Keyword) throws(FetchPredicateError) -> Bool {
        if try skip(.symbol(symbol)) { return true }
        return try skip(.keyword(keyword))
    }

    private mutating func require(_ symbol: String) throws(FetchPredicateError) {
        guard try skip(.symbol(symbol)) else { throw unexpected("\"\(symbol)\"") }
    }

    private mutating func nested<Result>(
        _ body: (inout PredicateParser) throws(FetchPredicateError) -> Result
    ) throws(FetchPredicateError) -> Result {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.maximumDepth else { throw unexpected("at most \(Self.maximumDepth) levels of nesting") }
        return try body(&self)
    }

    // MARK: Compound predicates

    private mutating func predicate() throws(FetchPredicateError) -> PredicateSyntax {
        var parts = [try conjunction()]
        while try skip("||", or: .or) { parts.append(try conjunction()) }
        return parts.count == 1 ? parts[0] : .or(parts)
    }

    private mutating func conjunction() throws(FetchPredicateError) -> PredicateSyntax {
        var parts = [try negation()]
        while try skip("&&", or: .and) { parts.append(try negation()) }
        return parts.count == 1 ? parts[0] : .and(parts)
    }

    private mutating func negation() throws(FetchPredicateError) -> PredicateSyntax {
        if try skip("!", or: .not) {
            return .not(try nested { (parser) throws(FetchPredicateError) in try parser.negation() })
        }
        if try skip(.symbol("(")) {
            let inner = try nested { (parser) throws(FetchPredicateError) in try parser.predicate() }
            try require(")")
            return inner
        }
        if try skip(.keyword(.truePredicate)) { return .constant(true) }
        if try skip(.keyword(.falsePredicate)) { return .constant(false) }
        return .comparison(try comparison())
    }

    // MARK: Comparisons

    private static let symbols: [String: Comparator] = [
        "=": .equal, "==": .equal, "!=": .notEqual, "<>": .notEqual, "<": .less, "<=": .lessOrEqual,
        "=<": .lessOrEqual, ">": .greater, ">=": .greaterOrEqual, "=>": .greaterOrEqual,
    ]

    private mutating func comparison() throws(FetchPredicateError) -> Comparison {
        let left = try expression()
        guard let comparator = comparator() else { throw unexpected("a comparison operator") }
        try advance()
        let folding = try modifiers()
        let position = token
        let right = try expression()
        if case .list(let elements) = right {
            guard comparator == .isIn || comparator == .between && elements.count == 2 else {
                token = position
                throw unexpected(comparator == .between ? "a list of two values" : "one value")
            }
        } else if comparator == .between {
            token = position
            throw unexpected("a list of two values")
        }
        return Comparison(left, comparator, folding: folding, right)
    }

    private func comparator() -> Comparator? {
        switch token.kind {
        case .symbol(let symbol): Self.symbols[symbol]
        case .keyword(let keyword): Comparator(rawValue: keyword.rawValue)
        default: nil
        }
    }

    private mutating func modifiers() throws(FetchPredicateError) -> TextFolding {
        guard try skip(.symbol("[")) else { return [] }
        var folding: TextFolding = []
        guard case .name(let letters) = token.kind else { throw unexpected("c, d or cd") }
        for letter in letters.lowercased() {
            switch letter {
            case "c": folding.insert(.caseInsensitive)
            case "d": folding.insert(.diacriticInsensitive)
            default: throw unexpected("c, d or cd")
            }
        }
        try advance()
        try require("]")
        return folding
    }

    // MARK: Expressions

    private mutating func expression() throws(FetchPredicateError) -> ExpressionSyntax {
        let expression: ExpressionSyntax
        switch token.kind {
        case .name(let name): expression = .attribute(name)
        case .string(let text): expression = .value(.string(text))
        case .integer(let number):
            guard number != .min else { throw unexpected("a number that fits 64 bits") }
            expression = .value(.integer(number))
        case .double(let number): expression = .value(.double(number))
        case .symbol("-"): return try negativeNumber()
        case .symbol("{"): return try nested { (parser) throws(FetchPredicateError) in try parser.list() }
        case .argument(let letters): expression = try argument(letters)
        case .keyword(.true_), .keyword(.yes): expression = .value(.boolean(true))
        case .keyword(.false_), .keyword(.no): expression = .value(.boolean(false))
        case .keyword(.nil_), .keyword(.null): expression = .value(.null)
        case .keyword(.cast): return try cast()
        default: throw unexpected("an attribute or a value")
        }
        try advance()
        return expression
    }

    private mutating func negativeNumber() throws(FetchPredicateError) -> ExpressionSyntax {
        try advance()
        let value: Value
        switch token.kind {
        case .integer(let number): value = .integer(0 &- number)
        case .double(let number): value = .double(-number)
        default: throw unexpected("a number")
        }
        try advance()
        return .value(value)
    }

    private mutating func list() throws(FetchPredicateError) -> ExpressionSyntax {
        try require("{")
        var elements: [ExpressionSyntax] = []
        if try skip(.symbol("}")) { return .list([]) }
        repeat {
            let start = token
            let element = try expression()
            guard case .value = element else {
                token = start
                throw unexpected("a value")
            }
            elements.append(element)
        } while try skip(.symbol(","))
        try require("}")
        return .list(elements)
    }

    /// CAST(literal, "type"), for values that have no literal of their own.
    private mutating func cast() throws(FetchPredicateError) -> ExpressionSyntax {
        try advance()
        try require("(")
        let start = token
        guard case .value(let literal) = try expression() else {
            token = start
            throw unexpected("a literal")
        }
        try require(",")
        guard case .string(let name) = token.kind, let type = ValueType(name: name) else {
            throw unexpected("the name of a type, like \"date\"")
        }
        try advance()
        try require(")")
        guard let value = literal.cast(to: type) else {
            token = start
            throw unexpected("a literal that reads as a \(name)")
        }
        return .value(value)
    }

    private mutating func argument(_ letters: String) throws(FetchPredicateError) -> ExpressionSyntax {
        guard let argument = arguments.popFirst() else { throw unexpected("an argument for it") }
        switch (letters, argument) {
        case ("@", _): return argument
        case ("K", .value(.string(let name))):
            guard !name.isEmpty, !name.contains("`") else {
                throw unexpected("the name of an attribute as its argument")
            }
            return .attribute(name)
        case ("K", _): throw unexpected("the name of an attribute as its argument")
        case (_, .value(.integer)), (_, .value(.double)), (_, .value(.boolean)), (_, .value(.decimal)): return argument
        default: throw unexpected("a number as its argument")
        }
    }
}
