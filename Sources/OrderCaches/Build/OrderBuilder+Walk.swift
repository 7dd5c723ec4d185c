package import Records

extension OrderBuilder {
    /// Hands out the members of an order among a reader's records, of which some are replaced or, with nil, left out,
    /// until the body returns false. In the order of their numbers as they are read, or sorted: O(n), or O(n log n).
    package func walkMembers(
        of reader: StoreReader, replacing replaced: [ObjectID: [UInt8]?], isSorted: Bool,
        _ body: (ObjectID) throws -> Bool
    ) throws {
        var placement = RowPlacement()
        var sorter = KeySorter(memoryBudget: memoryBudget, folder: reader.store.path)
        func take(_ object: ObjectID, _ record: RawSpan) throws -> Bool {
            placement.begin()
            guard try placer.place(RecordView(record), &placement) else { return true }
            guard isSorted else { return try body(object) }
            placement.finish(object)
            try sorter.append(placement.key)
            return true
        }
        let own = replaced.filter { $0.key.entity == entity }
        var goesOn = true
        let candidates = try candidates(reader).map { found in
            // A replaced record may match where the stored one did not.
            Set(found).union(own.keys.filter { !$0.isTemporary }).sorted()
        }
        try reader.forEachRecord(of: entity, among: candidates) { object, record in
            if let replacement = own[object] {
                goesOn = try replacement.map { try take(object, $0.span.bytes) } ?? true
            } else {
                goesOn = try take(object, record)
            }
            return goesOn
        }
        for (object, record) in own.sorted(by: { $0.key < $1.key }) where goesOn && object.isTemporary {
            if let record { goesOn = try take(object, record.span.bytes) }
        }
        guard isSorted else { return }
        goesOn = true
        try sorter.forEachSorted { key in
            guard goesOn, let object = RowKey.object(in: key, entity: entity) else { return }
            goesOn = try body(object)
        }
    }
}
