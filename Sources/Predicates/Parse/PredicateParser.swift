internal import FetchIndexValues

/// A recursive descent parser of the format language. Its rules, from the loosest to the tightest:
///
///     predicate   = conjunction { OR conjunction }
///     conjunction = negation { AND negation }
///     negation    = NOT negation | TRUEPREDICATE | FALSEPREDICATE | comparison
///     comparison  = [ ANY | SOME | ALL | NONE ] operand operator [ "[" c d n "]" ] operand | "(" predicate ")"
///     operand     = see PredicateParser+Operand
///
/// Only the content of parentheses shows whether they enclose a predicate or an operand. So these rules return a
/// `Term`, and the parser doesn't backtrack.
struct PredicateParser {
    /// The maximum nesting depth. If a predicate were nested much deeper, the recursion would overflow the stack.
    static let maximumDepth = 200

    var lexer: Lexer
    var token: Token
    var arguments: ArraySlice<any PredicateArgument>
    /// The number of nesting levels that are currently open.
    var depth = 0
    /// The maximum depth within the current operand, counted from the top of the predicate.
    var reach = 0

    /// The result of a grammar rule.
    enum Term {
        case predicate(PredicateSyntax)
        case operand(ExpressionSyntax)
    }

    init(_ format: String, _ arguments: [any PredicateArgument]) throws(FetchPredicateError) {
        lexer = try Lexer(format)
        token = try lexer.nextToken()
        self.arguments = arguments[...]
    }

    mutating func parse() throws(FetchPredicateError) -> PredicateSyntax {
        let predicate = try predicate()
        guard token.kind == .end else { throw unexpected("AND, OR or the end") }
        guard arguments.isEmpty else { throw .unusedArguments(arguments.count) }
        return predicate
    }

    mutating func parseExpression() throws(FetchPredicateError) -> ExpressionSyntax {
        let expression = try expression()
        guard token.kind == .end else { throw unexpected("an operator or the end") }
        return expression
    }

    // MARK: Tokens

    func unexpected(_ expected: String) -> FetchPredicateError { unexpected(expected, at: token) }

    func unexpected(_ expected: String, at token: Token) -> FetchPredicateError {
        .unexpected(
            position: token.position, found: token.kind == .end ? "the end" : "\"\(token.text.shownExcerpt)\"",
            expected: expected)
    }

    mutating func advance() throws(FetchPredicateError) { token = try lexer.nextToken() }

    mutating func skip(_ kind: Token.Kind) throws(FetchPredicateError) -> Bool {
        guard token.kind == kind else { return false }
        try advance()
        return true
    }

    private mutating func skip(_ symbol: String, or keyword: Keyword) throws(FetchPredicateError) -> Bool {
        if try skip(.symbol(symbol)) { return true }
        return try skip(.keyword(keyword))
    }

    mutating func require(_ symbol: String) throws(FetchPredicateError) {
        guard try skip(.symbol(symbol)) else { throw unexpected("\"\(symbol)\"") }
    }

    /// Opens a nesting level; `leave` closes it. Levels needn't be closed after an error, which ends the parse.
    mutating func enter() throws(FetchPredicateError) {
        depth += 1
        reach = max(reach, depth)
        try checkReach()
    }

    /// Counts one more level, for an operator above the operand that was just parsed.
    mutating func deepen() throws(FetchPredicateError) {
        reach += 1
        try checkReach()
    }

    private func checkReach() throws(FetchPredicateError) {
        guard reach <= Self.maximumDepth else { throw unexpected("at most \(Self.maximumDepth) levels of nesting") }
    }

    mutating func leave(_ levels: Int = 1) { depth -= levels }

    // MARK: Compound predicates

    mutating func predicate() throws(FetchPredicateError) -> PredicateSyntax {
        let term = try term()
        return try required(term)
    }

    /// Returns the predicate of a term. Throws if the term is an operand, because its operator is missing.
    private func required(_ term: Term) throws(FetchPredicateError) -> PredicateSyntax {
        guard case .predicate(let predicate) = term else { throw unexpected("a comparison operator") }
        return predicate
    }

    mutating func term() throws(FetchPredicateError) -> Term {
        let first = try conjunction()
        guard token.kind == .symbol("||") || token.kind == .keyword(.or) else { return first }
        var parts = [try required(first)]
        while try skip("||", or: .or) {
            let next = try conjunction()
            parts.append(try required(next))
        }
        return .predicate(.or(parts))
    }

    private mutating func conjunction() throws(FetchPredicateError) -> Term {
        let first = try negation()
        guard token.kind == .symbol("&&") || token.kind == .keyword(.and) else { return first }
        var parts = [try required(first)]
        while try skip("&&", or: .and) {
            let next = try negation()
            parts.append(try required(next))
        }
        return .predicate(.and(parts))
    }

    private mutating func negation() throws(FetchPredicateError) -> Term {
        var levels = 0
        while try skip("!", or: .not) {
            levels += 1
            try enter()
        }
        let inner = try comparison()
        guard levels > 0 else { return inner }
        leave(levels)
        var predicate = try required(inner)
        for _ in 0..<levels { predicate = .not(predicate) }
        return .predicate(predicate)
    }

    // MARK: Comparisons

    private static let symbols: [String: Comparator] = [
        "=": .equal, "==": .equal, "!=": .notEqual, "<>": .notEqual, "<": .less, "<=": .lessOrEqual,
        "=<": .lessOrEqual, ">": .greater, ">=": .greaterOrEqual, "=>": .greaterOrEqual,
    ]

    private mutating func comparison() throws(FetchPredicateError) -> Term {
        if try skip(.keyword(.truePredicate)) { return .predicate(.constant(true)) }
        if try skip(.keyword(.falsePredicate)) { return .predicate(.constant(false)) }
        let quantifier = try quantifier()
        let start = token
        let left: ExpressionSyntax
        switch try operand() {
        case .operand(let expression): left = expression
        case .predicate where quantifier != nil: throw unexpected("an attribute or a value", at: start)
        case .predicate(let predicate): return .predicate(predicate)
        }
        guard let comparator = comparator() else {
            if quantifier != nil { throw unexpected("a comparison operator") }
            return .operand(left)
        }
        try advance()
        let folding = try modifiers()
        let rightStart = token
        let right = try expression()
        try check(right, at: rightStart, of: comparator)
        return .predicate(.comparison(Comparison(left, comparator, folding: folding, right, quantifier: quantifier)))
    }

    private mutating func quantifier() throws(FetchPredicateError) -> Quantifier? {
        if try skip(.keyword(.any)) { return .any }
        if try skip(.keyword(.some)) { return .any }
        if try skip(.keyword(.all)) { return .all }
        if try skip(.keyword(.none)) { return Quantifier.none }
        return nil
    }

    private func comparator() -> Comparator? {
        switch token.kind {
        case .symbol(let symbol): Self.symbols[symbol]
        case .keyword(let keyword): Comparator(rawValue: keyword.rawValue)
        default: nil
        }
    }

    /// Throws if BETWEEN or IN has a literal on its right that it can't use.
    private func check(_ right: ExpressionSyntax, at start: Token, of comparator: Comparator)
        throws(FetchPredicateError)
    {
        switch (comparator, right) {
        case (.between, .list(let elements)) where elements.count == 2: return
        case (.between, .list), (.between, .value): throw unexpected("a list of two values", at: start)
        case (.isIn, .value(.string)), (.isIn, .value(.null)): return
        case (.isIn, .value): throw unexpected("a list or a text", at: start)
        default: return
        }
    }

    private mutating func modifiers() throws(FetchPredicateError) -> TextFolding {
        guard try skip(.symbol("[")) else { return [] }
        var folding: TextFolding = []
        guard case .name(let letters) = token.kind else { throw unexpected("c, d, cd or n") }
        for letter in letters.lowercased() {
            switch letter {
            case "c": folding.insert(.caseInsensitive)
            case "d": folding.insert(.diacriticInsensitive)
            case "n": break  // texts are compared as they are
            default: throw unexpected("c, d, cd or n")
            }
        }
        try advance()
        try require("]")
        return folding
    }
}

extension String {
    /// The text for a message: without control characters, and shortened if it's long.
    var shownExcerpt: String {
        var shown = String.UnicodeScalarView()
        for scalar in unicodeScalars.prefix(40) {
            shown.append(scalar.properties.generalCategory == .control ? " " : scalar)
        }
        return String(shown) + (unicodeScalars.count > 40 ? "…" : "")
    }
}
