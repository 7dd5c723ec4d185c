internal import SystemBasics
package import Values

/// What a part of a predicate demands of one attribute, where that is a few values or a range of its order.
package struct AttributeConstraint: Equatable, Sendable {
    package enum Demand: Equatable, Sendable {
        case values([Value])
        /// `<`, `<=`, `>` or `>=` a value; never null.
        case relation(Comparator, Value)
        case prefix(String)
    }

    package let slot: Int
    package let demand: Demand
}

extension CompiledPredicate {
    /// For each part of the topmost AND of the predicate that this was made of, what it demands of one attribute; nil
    /// for a part that is no such demand. `types` gives those of slots; nil for one that is looked up nowhere.
    package func constraints(onPartsOf syntax: PredicateSyntax, _ types: (Int) -> ValueType?)
        -> [[AttributeConstraint]?]
    {
        // Without AND there is one part, though BETWEEN is prepared as two.
        Self.constraints(root, syntax, types)
    }

    /// An AND among the parts of another one is no part: its own parts are.
    private static func constraints(
        _ node: Node, _ syntax: PredicateSyntax, _ types: (Int) -> ValueType?
    ) -> [[AttributeConstraint]?] {
        guard case .and(let inner) = syntax, case .all(let parts) = node, inner.count == parts.count else {
            return [node.constraints(types).flatMap { $0.isEmpty ? nil : $0 }]
        }
        return zip(parts, inner).flatMap { constraints($0, $1, types) }
    }
}

extension CompiledPredicate.Node {
    private var constrainedSlot: Int? {
        switch self {
        case .integer(let slot, _, _), .double(let slot, _, _), .text(let slot, _), .uuid(let slot, _, _),
            .decimal(let slot, _, _), .isInSet(.slot(let slot, _), _), .comparison(.slot(let slot, _), _, _, _):
            slot
        default: nil
        }
    }

    fileprivate func constraints(_ types: (Int) -> ValueType?) -> [AttributeConstraint]? {
        if let slot = constrainedSlot, types(slot) == nil { return nil }
        switch self {
        case .all(let parts):
            // BETWEEN is two relations.
            let demands = parts.map { $0.constraints(types) }
            return demands.contains { $0 == nil } ? nil : demands.flatMap { $0 ?? [] }
        case .integer(let slot, let comparator, let number):
            return Self.constraint(slot, comparator, .integer(number))
        case .double(let slot, let comparator, let number):
            let value = types(slot) == .date ? Value(secondsSinceReference: number) : .double(number)
            return Self.constraint(slot, comparator, value)
        case .uuid(let slot, let comparator, let bytes):
            return bytes.withUnsafeBytes { bytes in
                Self.constraint(slot, comparator, .uuid(UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))))
            }
        case .decimal(let slot, let comparator, let digits):
            guard let number = Decimal(string: String(decoding: digits, as: UTF8.self)) else { return nil }
            return Self.constraint(slot, comparator, .decimal(number))
        case .text(let slot, let test) where types(slot) == .url:
            guard let (comparator, text) = test.relation, let url = URL(string: text) else { return nil }
            return Self.constraint(slot, comparator, .url(url))
        case .text(let slot, let test): return test.demand.map { [AttributeConstraint(slot: slot, demand: $0)] }
        case .isInSet(.slot(let slot, let type), let set):
            return set.values(of: type).map { [AttributeConstraint(slot: slot, demand: .values($0))] }
        case .comparison(.slot(let slot, let type), let comparator, .constant(.one(let value)), let folding):
            if value.isNull {
                return comparator == .equal ? [AttributeConstraint(slot: slot, demand: .values([.null]))] : nil
            }
            return folding.isEmpty && value.type == type ? Self.constraint(slot, comparator, value) : nil
        default: return nil
        }
    }

    private static func constraint(_ slot: Int, _ comparator: Comparator, _ value: Value) -> [AttributeConstraint]? {
        AttributeConstraint.Demand(comparator, value).map { [AttributeConstraint(slot: slot, demand: $0)] }
    }
}

extension AttributeConstraint.Demand {
    /// Nil for what is no range of an order; a double that is not a number has no place in one.
    init?(_ comparator: Comparator, _ value: Value) {
        if !value.isEqualToItself { return nil }
        switch comparator {
        case .equal: self = .values([value])
        case .less, .lessOrEqual, .greater, .greaterOrEqual: self = .relation(comparator, value)
        default: return nil
        }
    }
}

extension Value {
    /// Whether `==` of the format language holds between it and itself: null and what is not a number do not.
    var isEqualToItself: Bool { compare(to: self) == .same }
}
