public import FetchIndexEssentials
public import FetchIndexPredicates
internal import FetchIndexValues

extension FetchPredicate {
    /// Converts a predicate of Foundation: `FetchPredicate(#Predicate<Book> { $0.price < 2000 })`. The converted
    /// predicate compares texts by code point, like other predicates here. Throws `FetchPredicateError.notExpressible`,
    /// which names a part that the format language can't express.
    public init<Object: ManagedObject>(_ predicate: Predicate<Object>) throws {
        var conversion = PredicateConversion()
        conversion.variables[predicate.variable.key] = .object
        self.init(try conversion.predicate(predicate.expression))
    }
}

/// A part of a `#Predicate` that the format language can express.
protocol FormatExpressible {
    func part(_ conversion: PredicateConversion) throws -> PredicateConversion.Part
}

/// Converts the expression tree of a `#Predicate` to the format language.
struct PredicateConversion {
    enum Part {
        case predicate(PredicateSyntax)
        case expression(ExpressionSyntax)
    }

    /// The converted expressions of the variables that closures have.
    var variables: [PredicateExpressions.VariableID: ExpressionSyntax] = [:]

    func part(_ expression: Any) throws -> Part {
        guard let expressible = expression as? any FormatExpressible else { throw notExpressible(expression) }
        return try expressible.part(self)
    }

    /// Converts a part to a predicate. A boolean expression that isn't a constant becomes a comparison with TRUE.
    func predicate(_ expression: Any) throws -> PredicateSyntax {
        switch try part(expression) {
        case .predicate(let predicate): return predicate
        case .expression(.value(.boolean(let value))): return .constant(value)
        case .expression(let expression):
            return .comparison(Comparison(expression, .equal, .value(.boolean(true))))
        }
    }

    func expression(_ expression: Any) throws -> ExpressionSyntax {
        switch try part(expression) {
        case .expression(let expression): return expression
        case .predicate(let predicate):
            return .ternary(predicate, .value(.boolean(true)), .value(.boolean(false)))
        }
    }

    func comparison(_ left: Any, _ comparator: Comparator, _ right: Any) throws -> Part {
        .predicate(.comparison(Comparison(try expression(left), comparator, try expression(right))))
    }

    func operation(_ left: Any, _ sign: ArithmeticOperator, _ right: Any) throws -> Part {
        .expression(.operation(sign, try expression(left), try expression(right)))
    }

    /// Makes the expression for the number of a sequence's elements for which a test holds, or doesn't hold if
    /// `isNegated`.
    func matching(
        _ sequence: Any, _ variable: PredicateExpressions.VariableID, _ test: Any, isNegated: Bool
    ) throws -> ExpressionSyntax {
        var inner = self
        let name = "element\(variables.count)"
        inner.variables[variable] = .variable(name)
        let predicate = try inner.predicate(test)
        return .keyPath(
            .subquery(try expression(sequence), variable: name, isNegated ? .not(predicate) : predicate),
            [.collection(.count)])
    }

    /// Returns a conversion in which the value inside an optional replaces a variable, and a predicate that holds if
    /// the optional is nil.
    func binding(_ variable: PredicateExpressions.VariableID, _ wrapped: Any) throws
        -> (conversion: PredicateConversion, isNil: PredicateSyntax)
    {
        var inner = self
        let value = try expression(wrapped)
        inner.variables[variable] = value
        return (inner, .comparison(Comparison(value, .equal, .value(.null))))
    }

    func notExpressible(_ part: Any) -> FetchPredicateError {
        let name = "\(type(of: part))".prefix { $0 != "<" }
        return .notExpressible("\(name) in #Predicate has no counterpart in the format language: \(part)")
    }
}
