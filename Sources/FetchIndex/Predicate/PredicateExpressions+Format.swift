internal import FetchIndexEssentials
internal import FetchIndexPredicates
internal import FetchIndexValues

// The parts of a `#Predicate` that can be converted. Each type converts itself; its generic parameters are cast to
// `FormatExpressible` at run time.

extension PredicateExpressions.Variable: FormatExpressible {
    func part(_ conversion: PredicateConversion) throws -> PredicateConversion.Part {
        guard let expression = conversion.variables[key] else { throw conversion.notExpressible(self) }
        return .expression(expression)
    }
}

extension PredicateExpressions.KeyPath: FormatExpressible {
    func part(_ conversion: PredicateConversion) throws -> PredicateConversion.Part {
        let base = try conversion.expression(root)
        switch keyPath as AnyKeyPath {
        case \String.count: return .expression(.call(.length, [base]))
        case \String.isEmpty: return .predicate(.comparison(Comparison(base, .equal, .value(.string("")))))
        default: break
        }
        guard base == .object, let object = Root.Output.self as? ManagedObject.Type,
            let names = object.attributeNames(ofAny: keyPath)
        else { throw conversion.notExpressible(self) }
        return .expression(.keyPath(.object, names.map { .name($0) }))
    }
}

extension PredicateExpressions.Value: FormatExpressible {
    func part(_ conversion: PredicateConversion) throws -> PredicateConversion.Part {
        if let optional = value as? any NilTestable, optional.isNil { return .expression(.value(.null)) }
        // A list is searched as a collection, although it could be stored as a text.
        let isList = value is any CodableAttributeValue && value is any Collection
        if !isList, let value = value as? any AttributeValue { return .expression(.value(value.attributeValue)) }
        if let list = value as? any Collection {
            let elements = list.compactMap { ($0 as? any AttributeValue)?.attributeValue }
            if elements.count == list.count { return .expression(.list(elements.map { .value($0) })) }
        }
        throw conversion.notExpressible(self)
    }
}

/// An optional whose wrapped type isn't known. This is a protocol, because a cast can't name such a type.
private protocol NilTestable { var isNil: Bool { get } }

extension Optional: NilTestable {
    fileprivate var isNil: Bool { self == nil }
}

extension PredicateExpressions.NilLiteral: FormatExpressible {
    func part(_ conversion: PredicateConversion) -> PredicateConversion.Part { .expression(.value(.null)) }
}

// MARK: Logic

extension PredicateExpressions.Conjunction: FormatExpressible {
    func part(_ conversion: PredicateConversion) throws -> PredicateConversion.Part {
        .predicate(.and(try conversion.predicate(lhs).conjuncts + conversion.predicate(rhs).conjuncts))
    }
}

extension PredicateExpressions.Disjunction: FormatExpressible {
    func part(_ conversion: PredicateConversion) throws -> PredicateConversion.Part {
        .predicate(.or(try conversion.predicate(lhs).disjuncts + conversion.predicate(rhs).disjuncts))
    }
}

extension PredicateExpressions.Negation: FormatExpressible {
    func part(_ conversion: PredicateConversion) throws -> PredicateConversion.Part {
        .predicate(.not(try conversion.predicate(wrapped)))
    }
}

extension PredicateExpressions.Conditional: FormatExpressible {
    func part(_ conversion: PredicateConversion) throws -> PredicateConversion.Part {
        .expression(
            .ternary(
                try conversion.predicate(test), try conversion.expression(trueBranch),
                try conversion.expression(falseBranch)))
    }
}

// MARK: Comparisons

extension PredicateExpressions.Equal: FormatExpressible {
    func part(_ conversion: PredicateConversion) throws -> PredicateConversion.Part {
        try conversion.comparison(lhs, .equal, rhs)
    }
}

extension PredicateExpressions.NotEqual: FormatExpressible {
    func part(_ conversion: PredicateConversion) throws -> PredicateConversion.Part {
        try conversion.comparison(lhs, .notEqual, rhs)
    }
}

extension PredicateExpressions.Comparison: FormatExpressible {
    func part(_ conversion: PredicateConversion) throws -> PredicateConversion.Part {
        let comparator: Comparator =
            switch op {
            case .lessThan: .less
            case .lessThanOrEqual: .lessOrEqual
            case .greaterThan: .greater
            case .greaterThanOrEqual: .greaterOrEqual
            @unknown default: throw conversion.notExpressible(self)
            }
        return try conversion.comparison(lhs, comparator, rhs)
    }
}

// MARK: Arithmetic

extension PredicateExpressions.Arithmetic: FormatExpressible {
    func part(_ conversion: PredicateConversion) throws -> PredicateConversion.Part {
        let sign: ArithmeticOperator =
            switch op {
            case .add: .add
            case .subtract: .subtract
            case .multiply: .multiply
            @unknown default: throw conversion.notExpressible(self)
            }
        return try conversion.operation(lhs, sign, rhs)
    }
}

extension PredicateExpressions.UnaryMinus: FormatExpressible {
    func part(_ conversion: PredicateConversion) throws -> PredicateConversion.Part {
        let inner = try conversion.expression(wrapped)
        if case .value(let value) = inner, let number = value.negated { return .expression(.value(number)) }
        return .expression(.call(.negative, [inner]))
    }
}

extension PredicateExpressions.IntDivision: FormatExpressible {
    func part(_ conversion: PredicateConversion) throws -> PredicateConversion.Part {
        try conversion.operation(lhs, .divide, rhs)
    }
}

extension PredicateExpressions.FloatDivision: FormatExpressible {
    func part(_ conversion: PredicateConversion) throws -> PredicateConversion.Part {
        try conversion.operation(lhs, .divide, rhs)
    }
}

extension PredicateExpressions.IntRemainder: FormatExpressible {
    func part(_ conversion: PredicateConversion) throws -> PredicateConversion.Part {
        .expression(.call(.modulus, [try conversion.expression(lhs), try conversion.expression(rhs)]))
    }
}
