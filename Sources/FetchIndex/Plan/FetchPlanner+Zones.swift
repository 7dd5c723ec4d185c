internal import FetchIndexOrderCaches
internal import FetchIndexPredicates
internal import FetchIndexRecords
internal import FetchIndexValues

/// Scans skip zones of objects in which no value can meet the predicate's demands.
extension FetchPlanner {
    /// The records that a scan reads: all records of subentities, and the entity's own records in zones with possible
    /// matches, or in all zones if fewer than about a quarter of its objects could be skipped. O(zones).
    func zonesToScan() throws -> RecordSelection {
        let demands = constraints.filter { hasBounds($0.slot) }.map { ($0.slot, $0.demand.ofZones) }
        if demands.isEmpty { return .all }
        let numbers = try reader.numbers(of: entityNumber) { bounds in
            demands.allSatisfy { slot, demand in bounds[slot].map(demand.mayMatch) ?? true }
        }
        return .numbers([entityNumber: numbers])
    }

    /// The number of zones in which a plan looks for objects that a scan would skip.
    private static let sampledZones = 16

    /// Estimates how many of the entity's own objects a scan skips because their texts, read from columns, don't match;
    /// nil if the predicate doesn't test texts. O(object numbers); O(1) if it's estimated from a sample of zones.
    func skippedByColumns(_ selection: RecordSelection, fromSample: Bool = false) throws -> UInt64? {
        guard let filter = ScanFilter(compiled.columnTests(of: entity)) else { return nil }
        return try reader.skippedCount(
            of: entityNumber, in: selection.numbers(of: entityNumber), where: filter,
            sampling: fromSample ? Self.sampledZones : .max)
    }

    /// Whether zones can have bounds for a slot: only attributes of the entity can, except decimals.
    private func hasBounds(_ slot: Int) -> Bool {
        PathTable.path(ofSlot: slot) == nil && entity.slots[slot].role == .attribute
            && entity.type(at: slot) != .decimal
    }
}

extension AttributeConstraint.Demand {
    /// A demand with more values than this, none of them null, is replaced by their range, if they can be compared.
    private static let mostValues = 256

    /// The demand to compare with zones, with ranges in place of many values.
    fileprivate var ofZones: Self {
        switch self {
        case .values(let values) where values.count > Self.mostValues && !admitsNull:
            guard let bounds = values.bounds else { return self }
            return .allOf([.relation(.greaterOrEqual, bounds.least), .relation(.lessOrEqual, bounds.greatest)])
        case .anyOf(let demands): return .anyOf(demands.map(\.ofZones))
        case .allOf(let demands): return .allOf(demands.map(\.ofZones))
        case .values, .relation, .prefix: return self
        }
    }

    /// Returns false only if values within bounds can't meet the demand.
    fileprivate func mayMatch(_ bounds: ValueBounds) -> Bool {
        switch self {
        case .values(let values): values.contains { bounds.mayHave($0) }
        case .anyOf(let demands): demands.contains { $0.mayMatch(bounds) }
        case .allOf(let demands): demands.allSatisfy { $0.mayMatch(bounds) }
        case .relation(.less, let value), .relation(.lessOrEqual, let value): bounds.mayHave(lessOrEqual: value)
        case .relation(_, let value): bounds.mayHave(greaterOrEqual: value)
        case .prefix(let prefix): bounds.mayHave(prefix: prefix)
        }
    }
}

extension [Value] {
    /// The least and the greatest value; nil for an empty list, and if values can't be compared.
    fileprivate var bounds: (least: Value, greatest: Value)? {
        guard var least = first, var greatest = first else { return nil }
        for value in self {
            guard let order = value.compare(to: least), let other = value.compare(to: greatest) else { return nil }
            if order == .ascending { least = value }
            if other == .descending { greatest = value }
        }
        return (least, greatest)
    }
}
