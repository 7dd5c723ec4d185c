internal import FetchIndexOrderCaches
package import FetchIndexRecords
package import FetchIndexModels
extension PersistentContainer {
    /// Hands out the records that a definition has as members, of one state of the store, the newest where none is given: by object number, or sorted
    /// when it has sort keys. All records of the entities are compared with their checksums first: damaged ones are left
    /// out and returned, or are an error that names the first. O(n) and no memory unless there are damaged ones, or
    /// O(n log n) and the memory that sorting may take.
    package func forEachRecord(
        of definition: OrderDefinition, skippingDamaged: Bool = false, in snapshot: Snapshot? = nil,
        _ body: (RecordKey, borrowing RecordView) throws -> Void
    ) throws -> [RecordKey] {
        try withPublicErrors {
            let snapshot = try snapshot ?? store.snapshot()
            var (request, selection) = try definition.plan(in: snapshot)
            let entities = request.builder.entities
            let damaged = try entities.flatMap { try snapshot.damagedRecords(of: $0) }
            if let first = damaged.first {
                let others = damaged.count == 1 ? "" : ", and \(damaged.count - 1) more"
                guard skippingDamaged else {
                    throw StoreError.corrupted(
                        "the record of \(definition.entity) \(first.number) does not match its checksum\(others)")
                }
                let left = Set(damaged)
                var objects: [RecordKey] = []
                for entity in entities {
                    try snapshot.scan(entity) { object, _ in
                        if !left.contains(object) { objects.append(object) }
                        return true
                    }
                }
                selection = .objects(objects)
            }
            let order = definition.sortKeys.isEmpty ? WalkOrder.byNumber : .byRow(most: .max)
            let stored = snapshot.model.entities
            try request.builder.walkMembers(of: snapshot, from: selection, order) { object in
                let entity = stored[object.entity]
                _ = try snapshot.record(object) { try body(object, RecordView($0, of: entity)) }
                return true
            }
            return damaged
        }
    }
}
