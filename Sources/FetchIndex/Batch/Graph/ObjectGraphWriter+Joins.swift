internal import FetchIndexEssentials
package import FetchIndexModels
internal import FetchIndexRecords
internal import FetchIndexValues

// Links of many-to-many relationships.
extension ObjectGraphWriter {
    /// The links of a join that were given so far.
    struct JoinState {
        /// New join records that aren't written yet.
        var batch = RecordBatch()
        /// By entity, the numbers of the objects whose links were given.
        var seen: [Int: SeenObjects] = [:]
    }

    private static let batchLength = 8192

    /// The join of a relationship of an entity; nil if its links are in the records of one of the two sides. Throws
    /// `StoreError` if the store lacks the entity.
    package func join(of relationship: String, in entity: String) throws -> GraphJoin? {
        try withPublicErrors {
            let stored = writer.model.entities[try writer.model.number(of: entity)].relationship(named: relationship)
            guard case .join(let join, let side)? = stored?.storage,
                let near = references(of: join).first(where: { $0.slot == side }),
                let far = references(of: join).first(where: { $0.slot != side })
            else { return nil }
            return GraphJoin(
                entityNumber: join, near: near, far: far, isNew: try writer.entityState(join).count == 0)
        }
    }

    /// Replaces the links of an object, each of which leads to another object. The objects of all links must be written.
    /// Objects whose links aren't given before `endLinks` lose their links. O(log n) for each link.
    package func write(_ links: [RowLink], of object: RecordKey, _ join: GraphJoin) throws {
        try withPublicErrors {
            joinState.seen[object.entity, default: SeenObjects()].insert(object.number)
            var wanted = Dictionary(links.map { ($0.object, $0) }) { first, _ in first }
            if !join.isNew {
                for holder in try writer.holders(of: join.near.name, to: object) {
                    try renew(holder, &wanted, object, join)
                }
            }
            let empty = RecordBuilder.empty
            for link in links {
                guard let new = wanted.removeValue(forKey: link.object) else { continue }
                let record = try entity(of: join).record(
                    empty.span.bytes, setting: new.values(of: object, in: join))
                joinState.batch.append(record.span.bytes)
                joinCounts.inserted += 1
            }
            if joinState.batch.count >= Self.batchLength { try writeBatch(join) }
        }
    }

    /// Gives a stored join record the positions of the wanted link to its object, or deletes it.
    private func renew(
        _ holder: RecordKey, _ wanted: inout [RecordKey: RowLink], _ object: RecordKey, _ join: GraphJoin
    ) throws {
        guard let old = try writer.copy(of: holder) else { return }
        let target = try RecordView(old.span.bytes, of: entity(of: join)).integer(at: join.far.slot)
        guard let target, let link = wanted.removeValue(forKey: RecordKey(reference: target)) else {
            try writer.remove(holder)
            joinCounts.deleted += 1
            return
        }
        let record = try entity(of: join).record(old.span.bytes, setting: link.values(of: object, in: join))
        if try writer.update(holder, record.span.bytes) { joinCounts.updated += 1 } else { joinCounts.unchanged += 1 }
    }

    /// Ends the links of a join: objects whose links weren't given lose them. O(links).
    package func endLinks(_ join: GraphJoin) throws {
        try withPublicErrors {
            let seen = joinState.seen
            if !join.isNew {
                var gone: [RecordKey] = []
                try writer.scan(join.entityNumber) { holder, record in
                    let target = try RecordView(record, of: entity(of: join)).integer(at: join.near.slot)
                    let object = target.map { RecordKey(reference: $0) }
                    if object.map({ seen[$0.entity]?.contains($0.number) != true }) ?? true { gone.append(holder) }
                    return true
                }
                for holder in gone { try writer.remove(holder) }
                joinCounts.deleted += gone.count
            }
            try writeBatch(join)
            joinState = JoinState()
        }
    }

    private func writeBatch(_ join: GraphJoin) throws {
        let batch = joinState.batch
        joinState.batch = RecordBatch()
        try writer.write(join.entityNumber, batch, .insert) { _, _ in }
        if join.isNew { try noteInserted(batch) }
    }

    private func entity(of join: GraphJoin) -> Entity { writer.model.entities[join.entityNumber] }
}

extension RowLink {
    /// The values of a join record's slots.
    fileprivate func values(of near: RecordKey, in join: GraphJoin) -> [Int: Value] {
        [
            join.near.slot: near.reference, join.far.slot: object.reference,
            join.near.position: position.map { .data(Data($0)) } ?? .null,
            join.far.position: otherPosition.map { .data(Data($0)) } ?? .null,
        ]
    }
}
