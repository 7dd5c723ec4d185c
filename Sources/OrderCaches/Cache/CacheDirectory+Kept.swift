internal import CountedTree
package import Records

/// A named order as it is kept, read without its request: its rows are of the reader's state.
package struct KeptOrder {
    package let name: String
    package let identity: CacheIdentity
    package let order: SectionedOrder
}

extension CacheDirectory {
    /// More commits than these behind, and whether a cache is fresh is not asked.
    private static let commitsLookedAt: UInt64 = 64

    /// The named orders of an entity that nothing touched since they were current. O(caches).
    package static func keptOrders(of entity: Int, in reader: StoreReader) throws -> [KeptOrder] {
        let stored = reader.model.entities[entity]
        let version = stored.versionHash
        return try names(in: reader).compactMap { name in
            guard let header = try? header(name, in: reader), header.identity.entity == stored.name,
                header.identity.entityVersion == version, isFresh(header, entity, in: reader)
            else { return nil }
            let shape = try OrderShape(hasSections: !header.identity.section.isEmpty)
            let nodes = LMDBNodeStore(in: reader, cache: header.number, nextNode: header.nextNode)
            return KeptOrder(
                name: name, identity: header.identity,
                order: try header.order(entity: entity, shape: shape, in: nodes))
        }
    }

    private static func isFresh(_ header: CacheHeader, _ entity: Int, in reader: StoreReader) -> Bool {
        if header.commit == reader.commit { return true }
        guard header.commit < reader.commit, reader.commit - header.commit <= commitsLookedAt,
            reader.logReaches(back: header.commit)
        else { return false }
        return (try? reader.changeCount(of: entity, after: header.commit)) == 0
    }
}
