internal import OrderCaches
internal import Predicates
internal import Records

/// Scans leave out zones of objects where no value can be one that the predicate demands.
extension FetchPlanner {
    /// What a scan reads: of the entity itself, the zones that may have members; of subentities, all objects. O(zones).
    func zonesToScan() throws -> RecordSource {
        let demands = constraints.flatMap { $0 ?? [] }.filter { hasBounds($0.slot) }
        if demands.isEmpty { return .all }
        let numbers = try reader.numbers(of: entityNumber) { bounds in
            demands.allSatisfy { demand in bounds[demand.slot].map(demand.demand.mayMatch) ?? true }
        }
        return .numbers([entityNumber: numbers])
    }

    /// How many objects of the entity itself a scan leaves out because of their texts. O(numbers) where the predicate has tests of texts.
    func skippedByColumns(_ source: RecordSource) throws -> UInt64 {
        guard let filter = ScanFilter(compiled.columnTests(of: entity)) else { return 0 }
        return try reader.skippedCount(of: entityNumber, in: source.numbers(of: entityNumber), where: filter)
    }

    /// Whether zones know values of a slot: not those of key paths and relationships, and no decimals.
    private func hasBounds(_ slot: Int) -> Bool {
        PathTable.path(ofSlot: slot) == nil && entity.slots[slot].role == .attribute
            && entity.type(at: slot) != .decimal
    }
}

extension AttributeConstraint.Demand {
    /// False when it holds for no value within bounds.
    fileprivate func mayMatch(_ bounds: ValueBounds) -> Bool {
        switch self {
        case .values(let values): values.contains { bounds.mayHave($0) }
        case .relation(.less, let value), .relation(.lessOrEqual, let value): bounds.mayHave(lessOrEqual: value)
        case .relation(_, let value): bounds.mayHave(greaterOrEqual: value)
        case .prefix(let prefix): bounds.mayHave(prefix: prefix)
        }
    }
}
