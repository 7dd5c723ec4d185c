internal import FetchIndexEssentials
internal import FetchIndexPredicates
internal import FetchIndexValues

// The parts of a `#Predicate` that search texts, lists, ranges and optionals.

extension PredicateExpressions.CollectionContainsCollection: FormatExpressible {
    func part(_ conversion: PredicateConversion) throws -> PredicateConversion.Part {
        guard Base.Output.self is any StringProtocol.Type, Other.Output.self is any StringProtocol.Type else {
            throw conversion.notExpressible(self)
        }
        return try conversion.search(base, .contains, other)
    }
}

extension PredicateExpressions.SequenceStartsWith: FormatExpressible {
    func part(_ conversion: PredicateConversion) throws -> PredicateConversion.Part {
        guard Base.Output.self is any StringProtocol.Type, Prefix.Output.self is any StringProtocol.Type else {
            throw conversion.notExpressible(self)
        }
        return try conversion.search(base, .beginsWith, prefix)
    }
}

extension PredicateExpressions.SequenceContains: FormatExpressible {
    func part(_ conversion: PredicateConversion) throws -> PredicateConversion.Part {
        try conversion.comparison(element, .isIn, sequence)
    }
}

extension PredicateExpressions.SequenceContainsWhere: FormatExpressible {
    func part(_ conversion: PredicateConversion) throws -> PredicateConversion.Part {
        let count = try conversion.matching(sequence, variable.key, test, isNegated: false)
        return .predicate(.comparison(Comparison(count, .greater, .value(.integer(0)))))
    }
}

extension PredicateExpressions.SequenceAllSatisfy: FormatExpressible {
    func part(_ conversion: PredicateConversion) throws -> PredicateConversion.Part {
        let count = try conversion.matching(sequence, variable.key, test, isNegated: true)
        return .predicate(.comparison(Comparison(count, .equal, .value(.integer(0)))))
    }
}

extension PredicateConversion {
    /// Converts a search. In Swift every text contains the empty text and begins with it. In the format language no
    /// text does, so this case is added.
    fileprivate func search(_ text: Any, _ comparator: Comparator, _ wanted: Any) throws -> Part {
        let (text, wanted) = (try expression(text), try expression(wanted))
        let search = PredicateSyntax.comparison(Comparison(text, comparator, wanted))
        let isText = PredicateSyntax.comparison(Comparison(text, .notEqual, .value(.null)))
        if case .value(let value) = wanted { return .predicate(value == .string("") ? isText : search) }
        let isEmpty = PredicateSyntax.comparison(Comparison(wanted, .equal, .value(.string(""))))
        return .predicate(.or([search, .and([isEmpty, isText])]))
    }
}

// MARK: Ranges

/// The bounds of a range as expressions. If `isClosed`, the range includes the upper bound.
private typealias Bounds = (lower: ExpressionSyntax, upper: ExpressionSyntax, isClosed: Bool)

private protocol BoundedRange {
    func bounds(_ conversion: PredicateConversion) throws -> Bounds
}

extension PredicateExpressions.ClosedRange: BoundedRange {
    fileprivate func bounds(_ conversion: PredicateConversion) throws -> Bounds {
        (try conversion.expression(lower), try conversion.expression(upper), true)
    }
}

extension PredicateExpressions.Range: BoundedRange {
    fileprivate func bounds(_ conversion: PredicateConversion) throws -> Bounds {
        (try conversion.expression(lower), try conversion.expression(upper), false)
    }
}

extension PredicateExpressions.Value: BoundedRange {
    fileprivate func bounds(_ conversion: PredicateConversion) throws -> Bounds {
        guard let range = value as? any AttributeRange else { throw conversion.notExpressible(self) }
        return range.bounds
    }
}

/// A range whose bounds are attribute values.
private protocol AttributeRange {
    var bounds: Bounds { get }
}

extension ClosedRange: AttributeRange where Bound: AttributeValue {
    fileprivate var bounds: Bounds { (.value(lowerBound.attributeValue), .value(upperBound.attributeValue), true) }
}

extension Range: AttributeRange where Bound: AttributeValue {
    fileprivate var bounds: Bounds { (.value(lowerBound.attributeValue), .value(upperBound.attributeValue), false) }
}

extension PredicateExpressions.RangeExpressionContains: FormatExpressible {
    func part(_ conversion: PredicateConversion) throws -> PredicateConversion.Part {
        guard let range = range as? any BoundedRange else { throw conversion.notExpressible(self) }
        let (lower, upper, isClosed) = try range.bounds(conversion)
        let element = try conversion.expression(element)
        if isClosed { return .predicate(.comparison(Comparison(element, .between, .list([lower, upper])))) }
        return .predicate(
            .and([
                .comparison(Comparison(element, .greaterOrEqual, lower)),
                .comparison(Comparison(element, .less, upper)),
            ]))
    }
}

// MARK: Optionals

extension PredicateExpressions.ForcedUnwrap: FormatExpressible {
    /// Converts the optional itself: a null value stays null, and doesn't trap like in Swift.
    func part(_ conversion: PredicateConversion) throws -> PredicateConversion.Part { try conversion.part(inner) }
}

extension PredicateExpressions.OptionalFlatMap: FormatExpressible {
    func part(_ conversion: PredicateConversion) throws -> PredicateConversion.Part {
        let (inner, isNil) = try conversion.binding(variable.key, wrapped)
        switch try inner.part(transform) {
        case .expression(let expression): return .expression(.ternary(isNil, .value(.null), expression))
        case .predicate(let predicate):
            return .expression(
                .ternary(isNil, .value(.null), .ternary(predicate, .value(.boolean(true)), .value(.boolean(false)))))
        }
    }
}

extension PredicateExpressions.NilCoalesce: FormatExpressible {
    func part(_ conversion: PredicateConversion) throws -> PredicateConversion.Part {
        let value = try conversion.expression(lhs)
        let fallback = try conversion.expression(rhs)
        // For `x?.test ?? y`, only x is compared with nil: the test is assumed not to be nil.
        if case .ternary(let isNil, .value(.null), let result) = value {
            if case .ternary(let test, .value(.boolean(true)), .value(.boolean(false))) = result {
                if fallback == .value(.boolean(false)) { return .predicate(.and([.not(isNil), test])) }
                if fallback == .value(.boolean(true)) { return .predicate(.or([isNil, test])) }
            }
            return .expression(.ternary(isNil, fallback, result))
        }
        let isNil = PredicateSyntax.comparison(Comparison(value, .equal, .value(.null)))
        return .expression(.ternary(isNil, fallback, value))
    }
}
