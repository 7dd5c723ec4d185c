internal import FetchIndexEssentials
package import FetchIndexValues

/// A condition on one attribute that a part of a predicate implies: the attribute has one of given values, is in a
/// range of the sorted values, or meets a combination of such conditions.
package struct AttributeConstraint: Equatable, Sendable {
    package indirect enum Demand: Equatable, Sendable {
        case values([Value])
        /// `<`, `<=`, `>` or `>=` a value; the value isn't null.
        case relation(Comparator, Value)
        case prefix(String)
        case anyOf([Demand])
        case allOf([Demand])
    }

    package let slot: Int
    package let demand: Demand
}

/// The conditions on attributes that a part of a predicate implies. All of them must hold.
package struct PartConstraints: Equatable, Sendable {
    /// The conditions; empty if none is known.
    package let constraints: [AttributeConstraint]
    /// Whether the part is equivalent to these constraints, so that it needn't be evaluated if they hold.
    package let isWhole: Bool

    static let unknown = PartConstraints(constraints: [], isWhole: false)
}

extension CompiledPredicate {
    /// The constraints that each part of an AND, and of ANDs inside it, puts on attributes; for another predicate,
    /// those of the whole predicate. This predicate must be compiled from `syntax`. `types` returns a slot's type, or
    /// nil if constraints on the slot aren't wanted. O(size of the predicate).
    package func constraints(onPartsOf syntax: PredicateSyntax, _ types: (Int) -> ValueType?) -> [PartConstraints] {
        // `syntax` distinguishes the parts: BETWEEN is one part, but is compiled to an AND of two nodes.
        Self.constraints(root, syntax, types)
    }

    /// The constraints of each part of an AND and of ANDs inside it; for another node, those of the node.
    private static func constraints(
        _ node: Node, _ syntax: PredicateSyntax, _ types: (Int) -> ValueType?
    ) -> [PartConstraints] {
        guard case .and(let inner) = syntax, case .all(let parts) = node, inner.count == parts.count else {
            return [node.constraints(types)]
        }
        return zip(parts, inner).flatMap { constraints($0, $1, types) }
    }
}

extension CompiledPredicate.Node {
    fileprivate func constraints(_ types: (Int) -> ValueType?) -> PartConstraints {
        switch self {
        case .all(let parts):
            let all = parts.map { $0.constraints(types) }
            return PartConstraints(
                constraints: all.flatMap(\.constraints), isWhole: !all.isEmpty && all.allSatisfy(\.isWhole))
        case .any(let parts):
            let possible = parts.filter { if case .constant(false) = $0 { false } else { true } }
            return Self.ofAny(possible.map { $0.constraints(types) })
        case .chosen(let branches): return Self.ofAny(branches.parts.map { $0.constraints(types) })
        default:
            guard let constraint = constraint(types) else { return .unknown }
            return PartConstraints(constraints: [constraint], isWhole: true)
        }
    }

    /// The constraints of an OR: those on attributes that all its parts constrain.
    private static func ofAny(_ parts: [PartConstraints]) -> PartConstraints {
        // The demands of the parts that were visited, by slot.
        var common: [Int: [AttributeConstraint.Demand]]?
        for part in parts {
            let own = Dictionary(grouping: part.constraints, by: \.slot).mapValues {
                $0.count == 1 ? $0[0].demand : .allOf($0.map(\.demand))
            }
            guard var found = common else {
                common = own.mapValues { [$0] }
                continue
            }
            for slot in Array(found.keys) {
                if let demand = own[slot] { found[slot]?.append(demand) } else { found[slot] = nil }
            }
            common = found
            if found.isEmpty { return .unknown }
        }
        guard let common, !common.isEmpty else { return .unknown }
        let slots = Set(parts.flatMap { $0.constraints.map(\.slot) })
        return PartConstraints(
            constraints: common.sorted { $0.key < $1.key }.map {
                AttributeConstraint(slot: $0.key, demand: .init(anyOf: $0.value))
            },
            isWhole: slots.count == 1 && parts.allSatisfy(\.isWhole))
    }

    private var constrainedSlot: Int? {
        switch self {
        case .integer(let slot, _, _), .double(let slot, _, _), .text(let slot, _), .uuid(let slot, _, _),
            .decimal(let slot, _, _), .isInSet(.slot(let slot, _), _), .comparison(.slot(let slot, _), _, _, _):
            slot
        default: nil
        }
    }

    /// The constraint that a comparison of an attribute with constants implies; nil if the node doesn't imply one.
    private func constraint(_ types: (Int) -> ValueType?) -> AttributeConstraint? {
        guard let slot = constrainedSlot, let type = types(slot) else { return nil }
        return demand(type).map { AttributeConstraint(slot: slot, demand: $0) }
    }

    private func demand(_ type: ValueType) -> AttributeConstraint.Demand? {
        switch self {
        case .integer(_, let comparator, let number): return .init(comparator, .integer(number))
        case .double(_, let comparator, let number):
            return .init(comparator, type == .date ? Value(secondsSinceReference: number) : .double(number))
        case .uuid(_, let comparator, let bytes):
            return bytes.withUnsafeBytes { .init(comparator, .uuid(UUID(uuid: $0.loadUnaligned(as: uuid_t.self)))) }
        case .decimal(_, let comparator, let digits):
            let number = Decimal(string: String(decoding: digits, as: UTF8.self))
            return number.flatMap { .init(comparator, .decimal($0)) }
        case .text(_, let test) where type == .url:
            guard let (comparator, text) = test.relation, let url = URL(string: text) else { return nil }
            return .init(comparator, .url(url))
        case .text(_, let test): return test.demand
        case .isInSet(.slot(_, let type), let set): return set.values(of: type).map { .values($0) }
        case .comparison(.slot(_, let type), let comparator, .constant(.one(let value)), let folding):
            if value.isNull { return comparator == .equal ? .values([.null]) : nil }
            return folding.isEmpty && value.type == type ? .init(comparator, value) : nil
        default: return nil
        }
    }
}

extension AttributeConstraint.Demand {
    /// The demand of a comparison with a value by `==`, `<`, `<=`, `>` or `>=`. Nil for other operators, and if the
    /// value is null or NaN.
    init?(_ comparator: Comparator, _ value: Value) {
        if !value.isEqualToItself { return nil }
        switch comparator {
        case .equal: self = .values([value])
        case .less, .lessOrEqual, .greater, .greaterOrEqual: self = .relation(comparator, value)
        default: return nil
        }
    }

    /// A demand that is met if one of the given demands is met. Merges demands for values.
    init(anyOf demands: [Self]) {
        var values: [Value] = []
        for case .values(let some) in demands { values += some }
        let others = demands.filter { if case .values = $0 { false } else { true } }
        if others.isEmpty {
            self = .values(values)
        } else {
            self = .anyOf((values.isEmpty ? [] : [.values(values)]) + others)
        }
    }

    /// A list that contains all values that meet the demand; nil if the demand doesn't give one.
    package var values: [Value]? {
        switch self {
        case .values(let values): values
        case .relation, .prefix, .anyOf: nil
        case .allOf(let demands): demands.compactMap(\.values).min { $0.count < $1.count }
        }
    }

    /// Whether null meets the demand.
    package var admitsNull: Bool {
        switch self {
        case .values(let values): values.contains(where: \.isNull)
        case .relation, .prefix: false
        case .anyOf(let demands): demands.contains(where: \.admitsNull)
        case .allOf(let demands): demands.allSatisfy(\.admitsNull)
        }
    }
}

extension Value {
    /// Whether `compare` finds the value equal to itself, which it doesn't for null and NaN.
    var isEqualToItself: Bool { compare(to: self) == .same }
}
