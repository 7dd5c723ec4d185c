internal import FetchIndexValues

extension PredicateCompiler {
    func operand(_ expression: ExpressionSyntax, _ scope: [String]) throws -> Typed {
        let typed = try typedOperand(expression, scope)
        return hasObject ? (typed.operand, .unknown) : typed
    }

    private func typedOperand(_ expression: ExpressionSyntax, _ scope: [String]) throws -> Typed {
        switch expression {
        case .value(let value): return (.constant(.one(value)), StaticType(.one(value)))
        case .object:
            guard hasObject else {
                throw FetchPredicateError.typeMismatch(
                    "SELF is the stored object, not a value: name one of its attributes")
            }
            return (.object, .unknown)
        case .variable(let name):
            guard let depth = scope.lastIndex(of: name) else { throw FetchPredicateError.unknownVariable(name) }
            return (.variable(depth), .unknown)
        case .list(let elements):
            let operands = try elements.map { try operand($0, scope).operand }
            return try folded(.list(operands), operands, .list)
        case .keyPath(let base, let steps): return try keyPath(expression, base, steps, scope)
        case .operation(let sign, let left, let right):
            let (left, right) = (try operand(left, scope), try operand(right, scope))
            let type = try resultType(of: sign, left.type, right.type, in: expression)
            return try folded(.operation(sign, left.operand, right.operand), [left.operand, right.operand], type)
        case .call(.now, _): return (.constant(.one(.date(now))), .one(.date))
        case .call(let function, let arguments):
            let typed = try arguments.map { try operand($0, scope) }
            let type = try resultType(of: function, typed.map(\.type), in: expression)
            let operands = typed.map(\.operand)
            return try folded(.call(function, operands), operands, type)
        case .subquery(let collection, let variable, let predicate):
            let collection = try operand(collection, scope)
            guard collection.type == .list || collection.type.isOpen else {
                throw FetchPredicateError.typeMismatch("\(expression.shown) needs a list, not \(collection.type.name)")
            }
            return (.subquery(collection.operand, try compile(predicate, scope + [variable])), .list)
        case .ternary(let predicate, let first, let second):
            let (first, second) = (try operand(first, scope), try operand(second, scope))
            let type = first.type == second.type ? first.type : .unknown
            return (.ternary(try compile(predicate, scope), first.operand, second.operand), type)
        }
    }

    /// Evaluates an operand at compile time if all its parts are constants.
    private func folded(_ operand: Operand, _ parts: [Operand], _ type: StaticType) throws -> Typed {
        let isConstant = parts.allSatisfy { part in
            if case .constant = part { true } else { false }
        }
        guard isConstant else { return (operand, type) }
        let value = try operand.value(ValueRow(object: .null, names: []), [])
        return (.constant(value), StaticType(value))
    }

    // MARK: Key paths

    private func keyPath(
        _ expression: ExpressionSyntax, _ base: ExpressionSyntax, _ steps: [KeyPathStep], _ scope: [String]
    ) throws -> Typed {
        var start: Typed
        var rest = steps[...]
        if base == .object, case .name = steps.first {
            let names = steps.prefix { step in
                if case .name = step { true } else { false }
            }.map { step in
                if case .name(let name) = step { name } else { "" }
            }
            let attribute = try resolve(names)
            let type = attribute.isList ? StaticType.list : attribute.type.map(StaticType.one) ?? .unknown
            start = (.slot(attribute.slot, attribute.type), type)
            rest = steps.dropFirst(attribute.nameCount)
            if attribute.isList, rest.first == .collection(.count) || rest.first == .size {
                return (.count(ofSlot: attribute.slot), .number)
            }
        } else {
            start = try operand(base, scope)
        }
        if rest.isEmpty { return start }
        if let typed = try foundationKeys(rest, of: start, scope) { return typed }
        guard start.type == .list || start.type.isOpen else {
            throw FetchPredicateError.typeMismatch(
                "\(expression.shown) looks into \(start.type.name), which has no parts")
        }
        let compiled = try rest.map { try step($0, scope) }
        let isNumber = rest.contains { $0 == .size || $0 == .collection(.count) || $0 == .collection(.sum) }
        start = (.path(start.operand, compiled), isNumber ? .number : .unknown)
        return start
    }

    /// Resolves steps that are keys of Foundation's classes, such as `length`. Nil if a step isn't such a key, or if
    /// the type of the value on its left isn't known.
    private func foundationKeys(_ steps: ArraySlice<KeyPathStep>, of start: Typed, _ scope: [String]) throws -> Typed? {
        guard case .one(var type) = start.type else { return nil }
        for step in steps {
            guard case .name(let name) = step, let next = FoundationKey(rawValue: name)?.type(of: type) else {
                return nil
            }
            type = next
        }
        return (.path(start.operand, try steps.map { try step($0, scope) }), .one(type))
    }

    private func step(_ step: KeyPathStep, _ scope: [String]) throws -> CompiledPredicate.Step {
        switch step {
        case .name(let name): .name(name)
        case .collection(let collection): .collection(collection)
        case .index(let index): .index(try operand(index, scope).operand)
        case .first: .first
        case .last: .last
        case .size: .size
        }
    }

    // MARK: Types

    private func resultType(
        of sign: ArithmeticOperator, _ left: StaticType, _ right: StaticType, in expression: ExpressionSyntax
    ) throws -> StaticType {
        switch sign {
        case .add where left.isDate && right.isNumber || right.isDate && left.isNumber: return .one(.date)
        case .subtract where left.isDate && right.isDate: return .number
        case .subtract where left.isDate && right.isNumber: return .one(.date)
        default: break
        }
        for type in [left, right] where !type.isNumber {
            throw FetchPredicateError.typeMismatch("\(expression.shown) calculates with \(type.name)")
        }
        return left.isOpen || right.isOpen ? .unknown : .number
    }

    private func resultType(
        of function: PredicateFunction, _ arguments: [StaticType], in expression: ExpressionSyntax
    ) throws -> StaticType {
        switch function {
        case .uppercase, .lowercase, .canonical, .length:
            guard arguments[0].isText else {
                throw FetchPredicateError.typeMismatch("\(expression.shown) needs a text, not \(arguments[0].name)")
            }
            return .one(function == .length ? .integer : .string)
        case .count: return .number
        case .min, .max:
            if arguments.count == 1 { return .unknown }
            for type in arguments where !type.isComparable(to: arguments[0]) {
                throw FetchPredicateError.typeMismatch(
                    "\(expression.shown) compares \(arguments[0].name) with \(type.name)")
            }
            return Set(arguments).count == 1 ? arguments[0] : .unknown
        case .mode: return .list
        case .sum, .average, .median, .stddev:
            if arguments.count == 1, arguments[0] == .list { return .number }
            fallthrough
        default:
            for type in arguments where !type.isNumber {
                throw FetchPredicateError.typeMismatch("\(expression.shown) calculates with \(type.name)")
            }
            return .number
        }
    }
}
