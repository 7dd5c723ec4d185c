internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexPredicates
internal import FetchIndexRecords
internal import FetchIndexValues

/// Finds candidates through related objects: finds the objects that the predicate selects at the end of a path, and
/// follows the links back from these to the objects at which the path begins.
extension FetchPlanner {
    /// The objects at the end of a path are scanned only if the fetched entity has at least this many times as many
    /// objects: reading one of them costs about as much as reading a record in a scan of the fetched entity.
    private static let fewerAtTheEnd: UInt64 = 4

    /// For each part of the predicate that constrains the end of a path, finds the objects from which the path leads to
    /// an object that meets the constraint. Leaves out a path if null meets the constraint, if the search would cost
    /// too much, or if more than `limit` objects are found.
    func related(_ limit: Int) throws -> [(path: String, objects: [RecordKey])] {
        guard !table.allPaths.isEmpty || !entity.relationships.isEmpty else { return [] }
        return try constraints.compactMap { constraint in
            if let index = PathTable.path(ofSlot: constraint.slot) {
                let path = table.paths[index]
                guard let objects = try starts(of: path, constraint.demand, limit) else { return nil }
                return (path.permanentNames.joined(separator: "."), objects)
            }
            guard let reference = entity.links?.reference(at: constraint.slot),
                let values = constraint.demand.values, values.count <= limit
            else { return nil }
            var objects: Set<RecordKey> = []
            for value in values {
                // Null isn't the key of an object.
                guard let target = RecordKey(value), try reader.linkCount(reference.name, to: target) <= limit else {
                    return nil
                }
                objects.formUnion(try reader.holders(of: reference.name, to: target))
                if objects.count > limit { return nil }
            }
            return (reference.relationship, Array(objects))
        }
    }

    private func starts(
        of path: RelatedPath, _ demand: AttributeConstraint.Demand, _ limit: Int
    ) throws -> [RecordKey]? {
        // Null also selects objects from which the path doesn't lead to an object. These can't be found by following
        // links back.
        if demand.admitsNull { return nil }
        guard let ends = try self.ends(of: path, demand, limit) else { return nil }
        var starts: Set<RecordKey> = []
        for end in ends {
            try path.addStarts(to: end, in: reader, &starts)
            if starts.count > limit { return nil }
        }
        return Array(starts)
    }

    /// The objects at the end of a path that meet a demand; nil if finding them is impossible or would cost too much.
    private func ends(
        of path: RelatedPath, _ demand: AttributeConstraint.Demand, _ limit: Int
    ) throws -> [RecordKey]? {
        guard let last = path.steps.last else { return try identified(demand, limit) }
        guard let slots = path.ends, let type = path.type else {
            return demand.values.map { $0.compactMap { RecordKey($0) } }
        }
        let entities = last.to.sorted()
        if let found = try keyed(entities, slots, demand) { return found }
        let intervals = KeyInterval.intervals(demand, type)
        if let found = try ordered(entities, slots, intervals, limit) { return found }
        let own = try reader.count(of: self.entities)
        guard try reader.count(of: entities) <= own / Self.fewerAtTheEnd else { return nil }
        var found: [RecordKey] = []
        for number in entities {
            guard let end = slots[number] else { continue }
            let entity = reader.model.entities[number]
            var key: [UInt8] = []
            try reader.scan(number) { object, record in
                key.removeAll(keepingCapacity: true)
                try RecordView(record, of: entity).appendOrderKey(of: end.slot, as: type, to: &key)
                if intervals.contains(where: {
                    !key.lexicographicallyPrecedes($0.lower) && key.lexicographicallyPrecedes($0.upper)
                }) {
                    found.append(object)
                }
                return true
            }
        }
        return found
    }

    /// Returns those objects with the demanded keys that exist and are of a fetched entity; nil if the demand isn't a
    /// list of at most `limit` keys.
    private func identified(_ demand: AttributeConstraint.Demand, _ limit: Int) throws -> [RecordKey]? {
        guard let values = demand.values, values.count <= limit else { return nil }
        return try values.compactMap { RecordKey($0) }.filter {
            try self.entities.contains($0.entity) && reader.record($0) { _ in }
        }
    }

    /// Finds the objects at the end of a path by unique keys. Returns nil unless the demand is a list of values and the
    /// attribute has unique keys in all entities of these objects.
    private func keyed(
        _ entities: [Int], _ slots: [Int: RelatedPath.End], _ demand: AttributeConstraint.Demand
    ) throws -> [RecordKey]? {
        guard let values = demand.values else { return nil }
        var found: Set<RecordKey> = []
        for number in entities {
            guard let slot = slots[number]?.slot, reader.hasUniqueKeys(of: number),
                reader.model.entities[number].uniqueConstraint(ofSlot: slot) != nil
            else { return nil }
            for value in values { try reader.object(number, slot: slot, equalTo: value).map { _ = found.insert($0) } }
        }
        return Array(found)
    }

    /// Looks up the objects at the end of a path in a current cache that has all objects of their entities and is
    /// sorted first by the path's attribute. Returns nil if such a cache is missing, or if more than `limit` objects
    /// are found.
    private func ordered(
        _ entities: [Int], _ slots: [Int: RelatedPath.End], _ intervals: [KeyInterval], _ limit: Int
    ) throws -> [RecordKey]? {
        guard
            let top = entities.min(by: {
                reader.model.superentities(of: $0).count < reader.model.superentities(of: $1).count
            }),
            let slot = slots[top]?.slot
        else { return nil }
        for kept in try LeadingOrder.all(of: top, among: entities, in: reader) where kept.keys[0].slot == slot {
            guard let known = kept.known, known.isEmpty else { continue }
            let order = try kept.order()
            var found: [RecordKey] = []
            for interval in intervals {
                let directed = kept.keys[0].isDescending ? interval.reversed : interval
                let first = try order.rowRank(of: directed.lower)
                let end = max(first, try order.rowRank(of: directed.upper))
                guard found.count + end - first <= limit else { return nil }
                try order.walkObjects(ranks: first..<end) {
                    found.append($0)
                    return true
                }
            }
            return found
        }
        return nil
    }
}
