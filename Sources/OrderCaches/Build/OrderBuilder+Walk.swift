package import Models
package import Records

extension OrderBuilder {
    /// Hands out the members of an order among a reader's records, of which some are replaced or, with nil, left out,
    /// until the body returns false. In the order of their numbers as they are read, or sorted: O(n), or O(n log n).
    package func walkMembers(
        of reader: StoreReader, from source: RecordSource = .all, replacing replaced: [RecordKey: [UInt8]?] = [:],
        isSorted: Bool = false, _ body: (RecordKey) throws -> Bool
    ) throws {
        let own = replaced.filter { $0.key.entity == entity }
        guard isSorted else { return try walkPlaced(of: reader, source, own) { object, _ in try body(object) } }
        var sorter = KeySorter(memoryBudget: memoryBudget, folder: reader.store.path)
        try walkPlaced(of: reader, source, own) { object, placement in
            placement.finish(object)
            try sorter.append(placement.key)
            return true
        }
        var goesOn = true
        try sorter.forEachSorted { key in
            guard goesOn, let object = RowKey.object(in: key, entity: entity) else { return }
            goesOn = try body(object)
        }
    }

    /// Hands out the members with their places, by number, new ones last.
    private func walkPlaced(
        of reader: StoreReader, _ source: RecordSource, _ own: [RecordKey: [UInt8]?],
        _ body: (RecordKey, inout RowPlacement) throws -> Bool
    ) throws {
        // No local function takes the placement: what one shares with closures is checked at each access.
        var placement = RowPlacement()
        let hasOwn = !own.isEmpty
        var goesOn = true
        var source = source
        if hasOwn, let found = source.objects {
            // A replaced record may match where the stored one did not.
            source = .objects(Set(found).union(own.keys.filter { !$0.isTemporary }).sorted())
        }
        try reader.forEachRecord(of: entity, from: source, unlessGone: { own[$0] != nil }) { object, record in
            guard hasOwn, let replacement = own[object] else {
                placement.begin()
                guard try placer.place(RecordView(record), &placement) else { return true }
                goesOn = try body(object, &placement)
                return goesOn
            }
            if let replacement { goesOn = try place(object, replacement, &placement, body) }
            return goesOn
        }
        for (object, record) in own.sorted(by: { $0.key < $1.key }) where goesOn && object.isTemporary {
            if let record { goesOn = try place(object, record, &placement, body) }
        }
    }

    private func place(
        _ object: RecordKey, _ record: [UInt8], _ placement: inout RowPlacement,
        _ body: (RecordKey, inout RowPlacement) throws -> Bool
    ) throws -> Bool {
        placement.begin()
        guard try placer.place(RecordView(record.span.bytes), &placement) else { return true }
        return try body(object, &placement)
    }
}
