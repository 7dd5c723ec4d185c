package import FetchIndexModels
package import FetchIndexOrderCaches
package import FetchIndexRecords

extension PersistentContainer {
    /// Makes a named cache maintained, or stops maintaining it. Every writer catches a maintained cache up in its own
    /// transaction, so that fetches find it current; each write that changes it costs O(log n) more. O(k log n) if the
    /// cache is k changes behind; O(n log n), in one transaction, if it must be rebuilt. Throws `StoreError`, and
    /// `ContextError.notCacheable` if its request has a function, which only the cache's program can call.
    public func setMaintained(_ isMaintained: Bool, cacheNamed name: String) throws {
        try withPublicErrors {
            let writer = try store.beginWrite()
            try CacheDirectory.setMaintained(isMaintained, name, in: writer)
            try writer.seal()
            if isMaintained {
                guard let request = try? CacheRequest(ofStored: name, in: writer) else {
                    throw ContextError.notCacheable(
                        "only the program that built the cache \"\(name)\" knows its request")
                }
                try cacheEngine.open([request], in: writer, for: .establishing)
            }
            try writer.commit()
        }
    }
}

extension PersistentContainer {
    /// Locks a named cache for its request, or unlocks it. Opening a locked cache with another request throws
    /// `StoreError.cacheLocked`, and so does deleting it; the cache's own request still catches it up and rebuilds it.
    /// The lock is stored, so it applies to all processes. O(caches). Throws `StoreError`.
    public func setLocked(_ isLocked: Bool, cacheNamed name: String) throws {
        try withPublicErrors {
            let writer = try store.beginWrite(changesRecords: false)
            try CacheDirectory.setLocked(isLocked, name, in: writer)
            try writer.commit()
        }
    }
}

extension CacheEngine {
    /// Catches up all maintained orders to the commit of a sealed writer, except those in `brought`, which already are.
    package func keepAll(in writer: StoreWriter, except brought: [String] = [], known: KnownChanges? = nil) throws {
        var kept = try writer.model.indexOrders()
        // A damaged list of maintained caches, or an unreadable cache, is skipped so that writers can continue. The
        // next fetch with a cache's request rebuilds the cache.
        for name in (try? CacheDirectory.maintained(in: writer)) ?? [] {
            if let request = try? CacheRequest(ofStored: name, in: writer) { kept.append(request) }
        }
        try open(kept.filter { !brought.contains($0.name) }, in: writer, for: .keeping, known: known)
    }

    /// Builds the orders of the indexes that a migration has added or changed, and deletes the orders of removed
    /// indexes.
    func matchIndexes(in writer: StoreWriter, from old: Model) throws {
        let wanted = try writer.model.indexOrders()
        let names = Set(wanted.map(\.name))
        for name in try CacheDirectory.names(in: writer)
        where CacheDirectory.isIndex(name) && !names.contains(name) {
            _ = try directory.delete(name, in: writer)
        }
        let present = Dictionary(try old.indexOrders().map { ($0.name, $0.order.identity) }) { first, _ in first }
        // If a subentity was added, indexes and maintained caches may read other attributes than before, and must be
        // rebuilt.
        let added = try wanted.filter { present[$0.name] != $0.order.identity } + changedMaintained(in: writer)
        try open(added, in: writer, for: .establishing)
        try keepAll(in: writer, except: added.map(\.name))
    }
}

extension CacheEngine {
    /// The maintained caches whose requests have another identity in the writer's model than in the stored cache.
    private func changedMaintained(in writer: StoreWriter) throws -> [CacheRequest] {
        ((try? CacheDirectory.maintained(in: writer)) ?? []).compactMap { name in
            guard let request = try? CacheRequest(ofStored: name, in: writer),
                (try? CacheDirectory.header(name, in: writer))??.identity != request.order.identity
            else { return nil }
            return request
        }
    }
}

extension CacheRequest {
    /// Makes the request of a stored cache from its header; nil if the cache doesn't exist.
    package init?(ofStored name: String, in reader: StoreReader) throws {
        guard let header = try CacheDirectory.header(name, in: reader) else { return nil }
        let definition = try OrderDefinition(header.identity, in: reader.model)
        self.init(name: name, order: try definition.compile(in: reader.model))
    }
}

extension Model {
    /// The orders of all indexes as caches, with the caches' names.
    package func indexOrders() throws -> [CacheRequest] {
        try entities.filter { !$0.indexKeys.isEmpty }.flatMap { entity in
            try zip(entity.indexes, entity.indexKeys).map { index, keys in
                let sortKeys = zip(index.keys, keys).map { SortKey($0, ofRole: entity.slots[$1.slot].role) }
                let definition = OrderDefinition(entity: entity.name, sortKeys: sortKeys)
                // The name contains the attributes' permanent names, so that a renamed attribute keeps its cache.
                let permanent = keys.map {
                    let key = Index.Key(entity.slots[$0.slot].permanentName, isDescending: $0.isDescending)
                    return SortKey(key, ofRole: .attribute).description
                }
                let name = "\(CacheDirectory.indexPrefix)\(entity.name)(\(permanent.joined(separator: ",")))"
                return CacheRequest(name: name, order: try definition.compile(in: self))
            }
        }
    }
}

extension SortKey where Object == ManagedObject {
    /// Makes the sort key for a key of an index. A to-one relationship is sorted by the related object's key.
    fileprivate init(_ key: Index.Key, ofRole role: SlotRole) {
        self.init(
            role == .reference ? "\(key.attribute).\(RelatedPath.keyName)" : key.attribute,
            key.isDescending ? .descending : .ascending)
    }
}
