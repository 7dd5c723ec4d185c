internal import FetchIndexPlatform
internal import FetchIndexValues

extension CompiledPredicate.Node {
    /// Whether the node holds for a row. `variables` are the values of the enclosing variables, outermost first.
    func holds<Row: PredicateRow & ~Escapable>(_ row: borrowing Row, _ variables: [PredicateValue]) throws -> Bool {
        switch self {
        case .constant(let result): return result
        case .not(let inner): return try !inner.holds(row, variables)
        case .all(let parts):
            for part in parts where try !part.holds(row, variables) { return false }
            return true
        case .any(let parts):
            for part in parts where try part.holds(row, variables) { return true }
            return false
        case .integer(let slot, let comparator, let number):
            return comparator.holds(try row.integer(at: slot), number)
        case .double(let slot, let comparator, let number):
            return comparator.holds(try row.double(at: slot), number)
        case .text(let slot, let test): return try row.test(at: slot, test) ?? false
        case .uuid(let slot, let comparator, let wanted):
            let order = try row.bytes(at: slot) { found in wanted.withUnsafeBytes { found.compare($0.bytes) } }
            return order.map(comparator.holds) ?? (comparator == .notEqual)
        case .decimal(let slot, let comparator, let wanted):
            let order = try row.bytes(at: slot) { found in wanted.withUnsafeBytes { DecimalText.order(found, $0.bytes) }
            }
            // If the stored value is null or isn't a valid decimal, only `!=` holds.
            return (order ?? nil).map(comparator.holds) ?? (comparator == .notEqual)
        default: return try holdsOnValues(row, variables)
        }
    }

    private func holdsOnValues<Row: PredicateRow & ~Escapable>(
        _ row: borrowing Row, _ variables: [PredicateValue]
    ) throws -> Bool {
        switch self {
        case .comparison(let left, let comparator, let right, let folding):
            return comparator.holds(try left.value(row, variables), try right.value(row, variables), folding)
        case .test(let operand, let test): return try test.holds(try operand.value(row, variables))
        case .search(let left, let comparator, let right, let folding):
            return try comparator.finds(try right.value(row, variables), in: try left.value(row, variables), folding)
        case .isIn(let left, let right, let folding):
            let (left, right) = (try left.value(row, variables), try right.value(row, variables))
            if right.value?.searchedText != nil { return try Comparator.contains.finds(left, in: right, folding) }
            return right.contains(left, folding)
        case .isInSet(let operand, let set): return try set.contains(try operand.value(row, variables))
        case .between(let operand, let bounds, let folding):
            guard case .list(let bounds) = try bounds.value(row, variables), bounds.count == 2 else { return false }
            let found = try operand.value(row, variables)
            return Comparator.lessOrEqual.holds(bounds[0], found, folding)
                && Comparator.lessOrEqual.holds(found, bounds[1], folding)
        case .quantified(let quantifier, let collection, let node):
            let elements = try collection.value(row, variables).elements
            for element in elements where try node.holds(row, variables + [element]) != (quantifier == .all) {
                return quantifier == .any
            }
            return quantifier != .any
        case .chosen(let branches):
            guard case .one(let value) = try branches.operand.value(row, variables), let key = EqualityKey(value),
                let indices = branches.indices[key]
            else { return false }
            for index in indices where try branches.parts[index].holds(row, variables) { return true }
            return false
        case .exact(let operands, let exact, let other):
            return try (operands.haveDecimal(row, variables) ? exact : other).holds(row, variables)
        default: return false  // `holds` handles the other nodes
        }
    }
}

extension CompiledPredicate.Operand {
    func value<Row: PredicateRow & ~Escapable>(_ row: borrowing Row, _ variables: [PredicateValue]) throws
        -> PredicateValue
    {
        switch self {
        case .constant(let value): return value
        case .slot(let slot, let type): return try row.value(at: slot, as: type)
        case .count(let slot): return .one(.integer(Int64(try row.count(at: slot))))
        case .object: return row.object
        case .variable(let depth): return variables[depth]
        case .list(let elements):
            var values: [PredicateValue] = []
            for element in elements { values.append(try element.value(row, variables)) }
            return .list(values)
        case .path(let base, let steps):
            var value = try base.value(row, variables)
            for (number, step) in steps.enumerated() {
                if case .collection(let aggregate) = step {
                    return try aggregated(aggregate, value, steps[(number + 1)...], row, variables)
                }
                value = try step.value(in: value, row, variables)
            }
            return value
        case .operation(let sign, let left, let right):
            return try sign.apply(try left.value(row, variables), try right.value(row, variables))
        case .call(let function, let arguments):
            var values: [PredicateValue] = []
            for argument in arguments { values.append(try argument.value(row, variables)) }
            return function.apply(values)
        case .subquery(let collection, let predicate):
            var found: [PredicateValue] = []
            for element in try collection.value(row, variables).elements
            where try predicate.holds(row, variables + [element]) {
                found.append(element)
            }
            return .list(found)
        case .ternary(let predicate, let first, let second):
            return try (predicate.holds(row, variables) ? first : second).value(row, variables)
        case .exact(let operands, let exact, let other):
            return try (operands.haveDecimal(row, variables) ? exact : other).value(row, variables)
        }
    }

    /// Applies a collection operator, such as @sum, to the values that the key path's remaining steps give for the
    /// elements. @count counts the elements, and ignores the steps.
    private func aggregated<Row: PredicateRow & ~Escapable>(
        _ aggregate: CollectionOperator, _ collection: PredicateValue, _ steps: ArraySlice<CompiledPredicate.Step>,
        _ row: borrowing Row, _ variables: [PredicateValue]
    ) throws -> PredicateValue {
        if aggregate == .count { return .one(.integer(Int64(collection.elements.count))) }
        var value = PredicateValue.list(collection.elements)
        for step in steps { value = try step.value(in: value, row, variables) }
        return aggregate.function.apply([value])
    }
}

extension [CompiledPredicate.Operand] {
    fileprivate func haveDecimal<Row: PredicateRow & ~Escapable>(
        _ row: borrowing Row, _ variables: [PredicateValue]
    ) throws -> Bool {
        for operand in self where try operand.value(row, variables).hasDecimal { return true }
        return false
    }
}

extension CompiledPredicate.Step {
    fileprivate func value<Row: PredicateRow & ~Escapable>(
        in value: PredicateValue, _ row: borrowing Row, _ variables: [PredicateValue]
    ) throws -> PredicateValue {
        switch self {
        case .name(let name): return value.value(of: name)
        case .collection: return .null  // the value of a second collection operator in a key path
        case .first: return value.list?.first ?? .null
        case .last: return value.list?.last ?? .null
        case .size: return value.list.map { .one(.integer(Int64($0.count))) } ?? .null
        case .index(let operand):
            switch (value, try operand.value(row, variables)) {
            case (.list(let elements), .one(.integer(let index))):
                guard let index = Int(exactly: index), elements.indices.contains(index) else { return .null }
                return elements[index]
            case (.dictionary(let values), .one(.string(let key))): return values[key] ?? .null
            default: return .null
            }
        }
    }
}

extension PredicateValue {
    fileprivate var list: [PredicateValue]? {
        guard case .list(let elements) = self else { return nil }
        return elements
    }

    /// The elements of a list; no elements for null; for any other value, the value itself.
    var elements: [PredicateValue] {
        switch self {
        case .list(let elements): elements
        case .one(.null): []
        case .one, .dictionary: [self]
        }
    }
}
