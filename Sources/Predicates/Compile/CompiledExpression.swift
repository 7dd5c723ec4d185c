internal import FetchIndexEssentials
package import FetchIndexValues

/// An expression of the format language, compiled for many rows: `canonical:(name)`, `price * count`.
package struct CompiledExpression: Sendable {
    private let operand: CompiledPredicate.Operand

    /// Compiles an expression. `resolve` finds the attribute that a key path begins with. Throws `FetchPredicateError`
    /// if the text is malformed, an attribute is unknown, the expression can't have the type, or it uses the current
    /// time.
    package init(
        _ text: String, of type: ValueType, resolving resolve: ([String]) throws -> ResolvedAttribute
    ) throws {
        var parser = try PredicateParser(text, [])
        let syntax = try parser.parseExpression()
        let compiled = try withoutActuallyEscaping(resolve) {
            try PredicateCompiler(resolve: $0, hasObject: false, now: Date()).operandWithDecimals(syntax)
        }
        if syntax.asksForTheTime {
            throw FetchPredicateError.typeMismatch("now() in \(syntax.shown) depends on the current time")
        }
        let wanted = StaticType.one(type)
        guard compiled.type.isOpen || compiled.type == wanted || compiled.type.isNumber && wanted.isNumber else {
            throw FetchPredicateError.typeMismatch(
                "\(syntax.shown) is \(compiled.type.name), not \(type.nameWithArticle)")
        }
        operand = compiled.operand
    }

    /// The expression's value for a row, converted to a type. Null stays null; nil if the value can't be converted. A
    /// number becomes the nearest double, a double becomes the decimal with its printed digits, and a number becomes an
    /// integer only if it's whole. O(size of the expression and of the values that it reads), except for patterns,
    /// medians, modes, and predicates on the elements of lists.
    package func value<Row: PredicateRow & ~Escapable>(of row: borrowing Row, as type: ValueType) throws -> Value? {
        guard case .one(let value) = try operand.value(row, []) else { return nil }
        if value.isNull || value.type == type { return value }
        switch (value, type) {
        case (.integer(let number), .double): return .double(Double(number))
        case (.decimal(let number), .double): return Double(number.description).map(Value.double)
        case (.double(let number), .decimal): return Decimal(string: number.description).map(Value.decimal)
        default: return value.exactly(as: type)
        }
    }
}

extension ExpressionSyntax {
    fileprivate var asksForTheTime: Bool {
        PredicateSyntax.comparison(Comparison(self, .equal, .value(.null))).contains { $0 == .call(.now, []) }
    }
}
