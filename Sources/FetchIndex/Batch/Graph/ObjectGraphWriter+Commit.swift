internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexRecords
internal import FetchIndexValues

// The end of the transaction.
extension ObjectGraphWriter {
    /// Makes the links that were left for later, stores a description of the graph, and commits. `source` makes the
    /// description from the number of the newest commit, which is returned, and the version of the model. Throws
    /// `StoreError`: `notUnique` if two objects of the graph have the same unique value, or refer to the same object by a
    /// one-to-one relationship.
    @discardableResult
    package func commit(describing source: (UInt64, UInt32) -> some Encodable) throws -> UInt64 {
        try withPublicErrors {
            try linkLater()
            try clearLinksToDeleted()
            for object in robbed.sorted() { try writer.requireOwnUniqueKeys(of: object) }
            try migrate(exactly: finalModel.replacing(storedModel))
            try setSource(source(writer.seal(), writer.modelVersion))
            try container.cacheEngine.keepAll(in: writer)
            return try writer.commit()
        }
    }

    private func linkLater() throws {
        // Links of one-to-one relationships that change are not in the records by now, so objects can exchange them.
        for link in later {
            let reference = references(of: link.holder.entity)[link.place]
            try set(link.link.values(in: reference), of: link.holder, isCounted: link.isCounted)
        }
    }

    /// Removes the links that still lead to deleted objects, of objects that aren't in the graph.
    private func clearLinksToDeleted() throws {
        for object in deleted {
            for incoming in writer.links(ofEntity: object.entity)?.incoming ?? [] {
                guard try writer.linkCount(incoming.name, to: object) > 0 else { continue }
                for holder in try writer.holders(of: incoming.name, to: object) {
                    if incoming.isJoin {
                        try writer.remove(holder)
                        continue
                    }
                    let entity = entity(of: holder)
                    guard let reference = entity.links?.references.first(where: { $0.name == incoming.name }) else {
                        continue
                    }
                    try set([reference.slot: .null, reference.position: .null], of: holder, isCounted: false)
                }
            }
        }
    }

    private func set(_ values: [Int: Value], of object: RecordKey, isCounted: Bool) throws {
        guard let old = try writer.copy(of: object) else { return }
        let record = try entity(of: object).record(old.span.bytes, setting: values)
        guard try writer.update(object, record.span.bytes), !isCounted, linkedLater.insert(object).inserted else {
            return
        }
        counts.updated += 1
        counts.unchanged = max(0, counts.unchanged - 1)
    }

    func references(of entity: Int) -> [EntityLinks.Reference] { writer.links(ofEntity: entity)?.references ?? [] }

    private func entity(of object: RecordKey) -> Entity { writer.model.entities[object.entity] }
}
