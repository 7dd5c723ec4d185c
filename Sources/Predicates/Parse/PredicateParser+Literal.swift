internal import FetchIndexEssentials
package import FetchIndexValues

extension PredicateParser {
    /// Parses CAST(literal, "type"), the notation for values whose type has no literal syntax. Only literals can be
    /// cast.
    mutating func cast() throws(FetchPredicateError) -> ExpressionSyntax {
        try enter()
        try advance()
        try require("(")
        let start = token
        guard case .value(let literal) = try expression() else { throw unexpected("a literal", at: start) }
        try require(",")
        guard case .string(let name) = token.kind, let type = Self.type(named: name, of: literal) else {
            throw unexpected("the name of a type, like \"date\"")
        }
        try advance()
        try require(")")
        leave()
        guard let value = literal.cast(to: type) else {
            throw unexpected("a literal that reads as a \(name)", at: start)
        }
        return .value(value)
    }

    /// The type with a name, which may also be the name of a Foundation class.
    private static func type(named name: String, of literal: Value) -> ValueType? {
        switch name {
        case "NSDate": .date
        case "NSString": .string
        case "NSDecimalNumber": .decimal
        case "NSNumber":
            switch literal {
            case .integer, .double, .decimal, .boolean: literal.type
            case .string(let text): Int64(text) == nil ? .double : .integer
            default: .double
            }
        default: ValueType(name: name)
        }
    }

    /// Takes the next argument, for a placeholder other than %@: %K, %s, or one for numbers such as %d.
    mutating func argument(_ letters: String) throws(FetchPredicateError) -> ExpressionSyntax {
        guard let argument = arguments.popFirst()?.predicateValue else {
            throw unexpected("an argument for this placeholder")
        }
        switch (letters, argument) {
        case ("s", .one(.string(let text))): return .value(.string(text))
        case ("s", _): throw unexpected("a text as this placeholder's argument")
        case ("K", .one(.string(let path))): return .keyPath(.object, try keyPath(path))
        case ("K", _): throw unexpected("the name of an attribute as this placeholder's argument")
        case (_, .one(.integer)), (_, .one(.double)), (_, .one(.boolean)), (_, .one(.decimal)):
            guard let expression = argument.expression else { break }
            return expression
        default: break
        }
        throw unexpected("a number as this placeholder's argument")
    }

    /// Takes the next argument for %@. If a key path follows the placeholder, takes the argument's value at that path,
    /// which is read when the predicate is made.
    mutating func argumentPath() throws(FetchPredicateError) -> ExpressionSyntax {
        let start = token
        guard let argument = arguments.popFirst() else { throw unexpected("an argument for this placeholder") }
        try advance()
        var names: [String] = []
        while let name = try nextStepName() {
            names.append(name)
            guard names.count <= Self.maximumDepth else {
                throw unexpected("at most \(Self.maximumDepth) steps of a key path")
            }
        }
        guard let value = names.isEmpty ? argument.predicateValue : argument.predicateValue(atKeyPath: names) else {
            throw unexpected("an argument with a value for \(names.joined(separator: ".").shownExcerpt)", at: start)
        }
        if let expression = value.expression { return expression }
        // The value has dictionaries, which can't be literals: the key path that follows reads a part of it.
        let path = try steps(from: .object)
        guard path != .object, let part = try? PredicateCompiler.value(of: path, on: value).expression else {
            throw unexpected("a value or a list as this placeholder's argument", at: start)
        }
        return part
    }

    /// If a dot and a name follow, reads them and returns the name.
    private mutating func nextStepName() throws(FetchPredicateError) -> String? {
        guard token.kind == .symbol(".") else { return nil }
        var ahead = lexer
        switch try ahead.nextToken().kind {
        case .name, .keyword:
            try advance()
            return try stepName()
        default: return nil
        }
    }

    /// Splits the argument of %K at its dots into collection operators and names. A name can't be empty, begin with @
    /// or contain a backquote.
    private func keyPath(_ path: String) throws(FetchPredicateError) -> [KeyPathStep] {
        var steps: [KeyPathStep] = []
        for name in path.split(separator: ".", omittingEmptySubsequences: false) {
            if name.hasPrefix("@"), let collection = CollectionOperator(rawValue: String(name.dropFirst())) {
                steps.append(.collection(collection))
            } else if name.isEmpty || name.hasPrefix("@") || name.contains("`") {
                throw unexpected("the name of an attribute as this placeholder's argument")
            } else {
                steps.append(.name(String(name)))
            }
            guard steps.count <= Self.maximumDepth else {
                throw unexpected("a key path of at most \(Self.maximumDepth) steps")
            }
        }
        return steps
    }
}

extension Value {
    /// The negated number; nil if the value isn't a number, or if the result can't be a literal.
    package var negated: Value? {
        switch self {
        case .integer(let number) where number != .min: .integer(-number)
        case .double(let number) where number.isFinite: .double(-number)
        case .decimal(let number) where !number.isNaN: .decimal(-number)
        default: nil
        }
    }

    /// The literal cast to another type: a text is parsed, and a number of seconds since 2001 may become a date. Nil if
    /// the literal can't be cast.
    func cast(to type: ValueType) -> Value? {
        switch (self, type) {
        case (.string("nan"), .double): .double(.nan)
        case (.string("inf"), .double): .double(.infinity)
        case (.string("-inf"), .double): .double(-.infinity)
        case (.string("nan"), .date): Value(secondsSinceReference: .nan)
        case (.string("inf"), .date): Value(secondsSinceReference: .infinity)
        case (.string("-inf"), .date): Value(secondsSinceReference: -.infinity)
        case (.string("NaN"), .decimal): .decimal(.nan)
        case (.string(let text), _): Value(text, as: type)
        case (.null, _): nil
        case (_, .string): .string(description)
        case (.integer, .integer), (.double, .double), (.decimal, .decimal), (.boolean, .boolean): self
        case (.integer(let number), .decimal): .decimal(Decimal(number))
        case (.double(let number), .decimal): Decimal(string: number.description).map(Value.decimal)
        case (.integer(let number), .double): .double(Double(number))
        case (.double(let seconds), .date): .date(Date(timeIntervalSinceReferenceDate: seconds))
        case (.integer(let seconds), .date): .date(Date(timeIntervalSinceReferenceDate: Double(seconds)))
        default: nil
        }
    }
}
