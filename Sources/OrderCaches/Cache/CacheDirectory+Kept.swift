internal import Models
internal import CountedTree
internal import LMDB
package import Records

/// A named order as it is kept, read without its request: its rows are of the reader's state.
package struct KeptOrder {
    package let name: String
    package let identity: CacheIdentity
    private let header: CacheHeader
    private let entity: Int
    private let reader: StoreReader

    init(_ header: CacheHeader, entity: Int, in reader: StoreReader) {
        (name, identity) = (header.name, header.identity)
        (self.header, self.entity, self.reader) = (header, entity, reader)
    }

    /// O(1). Throws when the header is damaged.
    package func order() throws -> SectionedOrder {
        let shape = try OrderShape(hasSections: !identity.section.isEmpty)
        return try header.order(entity: entity, shape: shape, in: LMDBNodeStore(header, in: reader))
    }
}

extension CacheDirectory {
    /// More commits than these behind, and whether a cache is fresh is not asked.
    private static let commitsLookedAt: UInt64 = 64

    /// The named orders of an entity that nothing touched since they were current. O(caches).
    package static func keptOrders(of entity: Int, in reader: StoreReader) throws -> [KeptOrder] {
        let stored = reader.model.entities[entity]
        let version = stored.versionHash
        var kept: [KeptOrder] = []
        // Many caches are of few commits.
        var fresh: [UInt64: Bool] = [:]
        try reader.view.forEachEntry(in: reader.tables.caches) { cursor in
            let name = cursor.key.withUnsafeBytes { String(validating: $0, as: UTF8.self) }
            guard let name, let header = try? CacheHeader(name: name, decoding: cursor.value),
                header.identity.entity == stored.name, header.identity.entityVersion == version
            else { return }
            let isFresh = fresh[header.commit] ?? isFresh(header, entity, in: reader)
            fresh[header.commit] = isFresh
            if isFresh { kept.append(KeptOrder(header, entity: entity, in: reader)) }
        }
        return kept
    }

    private static func isFresh(_ header: CacheHeader, _ entity: Int, in reader: StoreReader) -> Bool {
        guard header.commit <= reader.commit, reader.commit - header.commit <= commitsLookedAt else { return false }
        return (try? header.changesBehind(of: entity, in: reader)) == 0
    }
}
