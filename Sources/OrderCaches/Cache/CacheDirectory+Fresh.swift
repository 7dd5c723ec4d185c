internal import FetchIndexModels
internal import FetchIndexLMDB
package import FetchIndexRecords

/// A fresh cache: its rows match the reader's state. It's opened without its request.
package struct FreshCache {
    package let name: String
    package let identity: CacheIdentity
    private let header: CacheHeader
    /// The entities whose objects are in the cache.
    package let entities: [Int]
    private let reader: StoreReader

    init(_ header: CacheHeader, entity: Int, in reader: StoreReader) {
        (name, identity) = (header.name, header.identity)
        (self.header, self.reader) = (header, reader)
        entities = ([entity] + identity.subentities).sorted()
    }

    /// The cache's order. Throws if its header is damaged. O(1).
    package func order() throws -> SectionedOrder {
        let shape = try header.shapeForReading()
        let entity = entities.count == 1 ? entities[0] : nil
        return try header.order(entity: entity, shape: shape, in: LMDBNodeStore(header, in: reader))
    }
}

extension CacheDirectory {
    /// The fresh caches whose requests are for an entity. O(caches x log n).
    package static func freshCaches(of entity: Int, in reader: StoreReader) throws -> [FreshCache] {
        let stored = reader.model.entities[entity]
        var kept: [FreshCache] = []
        // Many caches have the same commit. So for caches that depend only on their own entity, freshness is computed
        // once per commit.
        var fresh: [UInt64: Bool] = [:]
        try reader.view.forEachEntry(in: reader.tables.caches) { cursor in
            let name = cursor.key.withUnsafeBytes { String(validating: $0, as: UTF8.self) }
            guard let name, let header = try? CacheHeader(name: name, decoding: cursor.value),
                header.identity.entity == stored.permanentName, header.identity.canBeRead(from: reader.model)
            else { return }
            let cache = FreshCache(header, entity: entity, in: reader)
            let dependencies = header.identity.dependencies(entity)
            let known = dependencies.count == 1 ? fresh[header.commit] : nil
            let isFresh = try known ?? isFresh(header, in: reader)
            if dependencies.count == 1 { fresh[header.commit] = isFresh }
            if isFresh { kept.append(cache) }
        }
        return kept
    }

    /// Whether a cache is fresh. A cache whose commit is more than `idleCommits` old counts as stale, without reading
    /// the log, even if nothing that the cache depends on has changed.
    private static func isFresh(_ header: CacheHeader, in reader: StoreReader) throws -> Bool {
        guard header.commit <= reader.commit, reader.commit - header.commit <= CacheEngine.idleCommits else {
            return false
        }
        return try CacheEngine.assess(header, in: reader).isCurrent
    }
}
