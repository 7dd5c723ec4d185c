internal import FetchIndexEssentials
internal import FetchIndexValues

// A literal next to a decimal is a decimal: `price + 0.2 == 0.3` is exact if the price is a decimal. In one comparison,
// or in an expression outside of comparisons, double literals are decimals if one of the other values is a decimal.

extension Comparison {
    /// The comparison with decimals in place of double literals; nil if the result is the same with doubles, whatever
    /// the other values are.
    var withDecimalLiterals: Comparison? {
        guard left.calculatesWithDoubles(isPart: false) || right.calculatesWithDoubles(isPart: false) else {
            return nil
        }
        var exact = self
        (exact.left, exact.right) = (left.withDecimalLiterals, right.withDecimalLiterals)
        return exact
    }
}

extension ExpressionSyntax {
    /// The expression with decimals in place of double literals. Predicates inside the expression stay unchanged,
    /// because they have their own comparisons.
    var withDecimalLiterals: ExpressionSyntax {
        switch self {
        case .value(let value): return .value(value.asDecimalLiteral ?? value)
        case .list(let elements): return .list(elements.map(\.withDecimalLiterals))
        case .operation(let sign, let left, let right):
            return .operation(sign, left.withDecimalLiterals, right.withDecimalLiterals)
        case .call(let function, let arguments): return .call(function, arguments.map(\.withDecimalLiterals))
        case .ternary(let predicate, let first, let second):
            return .ternary(predicate, first.withDecimalLiterals, second.withDecimalLiterals)
        case .keyPath(let base, let steps): return .keyPath(base.withDecimalLiterals, steps)
        case .object, .variable, .subquery: return self
        }
    }

    /// Whether decimals must replace the double literals of this expression: one of them is part of a calculation, or
    /// has a magnitude of 2^53 or more, so that its exact value may differ from its printed digits. Any other double
    /// literal gives the same result as the decimal with its digits, because a comparison with a decimal uses these
    /// digits. Doubles without an `asDecimalLiteral` don't count. `isPart`: whether this expression is part of a
    /// calculation.
    func calculatesWithDoubles(isPart: Bool) -> Bool {
        switch self {
        case .value(.double(let number)):
            (isPart || number.magnitude >= 0x1p53) && Value.double(number).asDecimalLiteral != nil
        case .list(let elements): elements.contains { $0.calculatesWithDoubles(isPart: isPart) }
        case .operation(_, let left, let right):
            left.calculatesWithDoubles(isPart: true) || right.calculatesWithDoubles(isPart: true)
        case .call(_, let arguments): arguments.contains { $0.calculatesWithDoubles(isPart: true) }
        case .ternary(_, let first, let second):
            first.calculatesWithDoubles(isPart: isPart) || second.calculatesWithDoubles(isPart: isPart)
        case .keyPath(let base, _): base.calculatesWithDoubles(isPart: true)
        case .value, .object, .variable, .subquery: false
        }
    }

    /// Whether the expression is an average or a median, which is a decimal if the numbers are decimals.
    var calculatesMeans: Bool {
        switch self {
        case .call(.average, _), .call(.median, _): true
        case .keyPath(_, let steps): steps.contains(.collection(.avg))
        default: false
        }
    }

    /// Collects the operands that may be decimals: key paths, variables, SELF, subqueries and decimal literals.
    /// Searches the parts of other expressions for them.
    func addLeaves(to leaves: inout [ExpressionSyntax]) {
        switch self {
        case .value(.decimal), .object, .variable, .subquery: leaves.append(self)
        case .value: return
        case .list(let parts), .call(_, let parts): for part in parts { part.addLeaves(to: &leaves) }
        case .operation(_, let left, let right), .ternary(_, let left, let right):
            left.addLeaves(to: &leaves)
            right.addLeaves(to: &leaves)
        case .keyPath(let base, _):
            switch base {
            case .object, .variable, .subquery: leaves.append(self)
            default: base.addLeaves(to: &leaves)
            }
        }
    }
}

extension Value {
    /// The decimal with the digits of this double; nil for other values, for NaN, and for nonzero doubles with a
    /// magnitude outside of 1e-60 to 1e60: calculations with such decimals could leave the range of `Decimal`.
    fileprivate var asDecimalLiteral: Value? {
        guard case .double(let number) = self, number.isFinite else { return nil }
        if number == 0 { return .decimal(0) }
        guard (1e-60...1e60).contains(number.magnitude) else { return nil }
        return Decimal(string: number.description).map(Value.decimal)
    }
}

extension PredicateValue {
    /// Whether the value is a decimal, or a list that contains one.
    var hasDecimal: Bool {
        switch self {
        case .one(.decimal): true
        case .list(let elements): elements.contains(where: \.hasDecimal)
        case .one, .dictionary: false
        }
    }
}

extension PredicateCompiler {
    /// The condition under which the literals of a comparison are decimals.
    private enum Witnesses {
        case always
        case never
        /// Literals are decimals if one of these operands is a decimal.
        case any([Operand])
    }

    private func witnesses(of expressions: [ExpressionSyntax], _ scope: [String]) throws -> Witnesses {
        var leaves: [ExpressionSyntax] = []
        for expression in expressions { expression.addLeaves(to: &leaves) }
        var operands: [Operand] = []
        for leaf in leaves {
            let (operand, type) = try operand(leaf, scope)
            if case .constant(let value) = operand {
                if value.hasDecimal { return .always }
            } else if type.mayBeDecimal {
                operands.append(operand)
            }
        }
        return operands.isEmpty ? .never : .any(operands)
    }

    /// Compiles a comparison by `make`. Its double literals count as decimals if another value in the comparison is a
    /// decimal. If only the values show that, each evaluation decides.
    func withDecimals(
        _ comparison: Comparison, _ scope: [String], _ make: (Comparison) throws -> Node
    ) throws -> Node {
        guard let exact = comparison.withDecimalLiterals else { return try make(comparison) }
        switch try witnesses(of: [comparison.left, comparison.right], scope) {
        case .never: return try make(comparison)
        case .always: return try make(exact)
        case .any(let operands):
            let exact = try make(exact)
            return exact.comparesDecimal ? exact : .exact(where: operands, exact, try make(comparison))
        }
    }

    /// Compiles an expression that isn't part of a comparison. Its double literals count as decimals if another value
    /// in the expression is a decimal. If only the values show that, each evaluation decides.
    func operandWithDecimals(_ expression: ExpressionSyntax) throws -> Typed {
        let typed = try operand(expression, [])
        guard expression.calculatesWithDoubles(isPart: false) else { return typed }
        switch try witnesses(of: [expression], []) {
        case .never: return typed
        case .always: return try operand(expression.withDecimalLiterals, [])
        case .any(let operands):
            let exact = try operand(expression.withDecimalLiterals, []).operand
            return (.exact(where: operands, exact, typed.operand), typed.type)
        }
    }
}

extension CompiledPredicate.Node {
    /// Whether the node only compares a decimal attribute with constants. Such a node needs no alternative with
    /// doubles: if the attribute is null, both would give the same result.
    fileprivate var comparesDecimal: Bool {
        switch self {
        case .decimal: true
        case .all(let parts): parts.allSatisfy(\.comparesDecimal)
        case .isInSet(.slot(_, .decimal), let set): !set.hasNull
        default: false
        }
    }
}

extension StaticType {
    fileprivate var mayBeDecimal: Bool {
        switch self {
        case .one(let type): type == .decimal
        case .null: false
        case .number, .list, .unknown: true
        }
    }
}
