package import FetchIndexModels
package import FetchIndexOrderCaches
package import FetchIndexRecords

extension PersistentContainer {
    /// Makes a named cache maintained, or stops maintaining it. Every writer catches up a maintained cache in its own
    /// transaction, so that fetches find the cache current; each changed row costs the writer O(log n) more. O(caches),
    /// and O(k log n) if the cache is k changes behind, or O(n log n), in one transaction, if it must be rebuilt.
    /// Throws `StoreError`, and `ContextError.notCacheable` if the request can't be read from the cache, for example
    /// because its section key is a function that only the program which built the cache can call.
    public func setMaintained(_ isMaintained: Bool, cacheNamed name: String) throws {
        try withPublicErrors {
            let writer = try store.beginWrite()
            try CacheDirectory.setMaintained(isMaintained, name, in: writer)
            try writer.seal()
            if isMaintained {
                guard let request = try? CacheRequest(ofStored: name, in: writer) else {
                    throw ContextError.notCacheable(
                        "the request of the cache \"\(name)\" cannot be read here")
                }
                try cacheEngine.open(request, in: writer, for: .establishing)
            }
            try writer.commit()
        }
    }
}

extension PersistentContainer {
    /// Locks a named cache for its request, or unlocks it. Opening a locked cache with another request throws
    /// `CacheError.locked`, and so does `deleteCache`. Opening the cache with its own request still catches it up
    /// or rebuilds it. The lock is stored, so it applies to all processes. O(caches). Throws `StoreError`.
    public func setLocked(_ isLocked: Bool, cacheNamed name: String) throws {
        try withPublicErrors {
            let writer = try store.beginWrite(changesRecords: false)
            try CacheDirectory.setLocked(isLocked, name, in: writer)
            try writer.commit()
        }
    }
}

extension CacheEngine {
    /// Catches up the maintained caches and those of indexes to the commit of a sealed writer, except the caches in
    /// `brought`, which are caught up already.
    package func keepAll(in writer: StoreWriter, except brought: [String] = [], known: KnownChanges? = nil) throws {
        var kept = try writer.model.indexOrders()
        // A damaged list of maintained caches and an unreadable cache are skipped, so that writers can continue. A
        // fetch with the request of a skipped cache can make the cache current.
        for name in (try? CacheDirectory.maintained(in: writer)) ?? [] {
            if let request = try? CacheRequest(ofStored: name, in: writer) { kept.append(request) }
        }
        try open(kept.filter { !brought.contains($0.name) }, in: writer, for: .keeping, known: known)
    }

    /// Updates caches after a change of the model: builds the caches of added or changed indexes, deletes the caches of
    /// removed indexes and of dropped entities, rebuilds maintained caches whose fingerprint has changed, and catches up
    /// the other maintained caches.
    func matchIndexes(in writer: StoreWriter, from old: Model) throws {
        let wanted = try writer.model.indexOrders()
        let names = Set(wanted.map(\.name))
        for name in try CacheDirectory.names(in: writer)
        where CacheDirectory.isIndex(name) && !names.contains(name) {
            _ = try directory.delete(name, in: writer)
        }
        for (before, after) in zip(old.entities, writer.model.entities)
        where !before.isDropped && !before.isJoin && after.isDropped {
            try directory.deleteAll(ofEntity: before.permanentName, in: writer)
        }
        let present = Dictionary(try old.indexOrders().map { ($0.name, $0.order.identity) }) { first, _ in first }
        // For example, if a subentity was added, indexes and maintained caches of its superentities read other
        // attributes than before, and must be rebuilt.
        let added = try wanted.filter { present[$0.name] != $0.order.identity } + changedMaintained(in: writer)
        try open(added, in: writer, for: .establishing)
        try keepAll(in: writer, except: added.map(\.name))
    }
}

extension CacheEngine {
    /// The maintained caches whose requests have a fingerprint in the writer's model that differs from the stored one.
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
    /// Makes the request of a stored cache from the cache's header; nil if the cache doesn't exist.
    package init?(ofStored name: String, in reader: StoreReader) throws {
        guard let header = try CacheDirectory.header(name, in: reader) else { return nil }
        let definition = try OrderDefinition(header.identity, in: reader.model)
        self.init(name: name, order: try definition.compile(in: reader.model))
    }
}

extension Model {
    /// The requests and names of the caches of all indexes.
    package func indexOrders() throws -> [CacheRequest] {
        try entities.filter { !$0.indexKeys.isEmpty }.flatMap { entity in
            try zip(entity.indexes, entity.indexKeys).map { index, keys in
                let sortKeys = zip(index.keys, keys).map { SortKey($0, ofRole: entity.slots[$1.slot].role) }
                let definition = OrderDefinition(entity: entity.name, sortKeys: sortKeys)
                // The name contains permanent names, so that renaming the entity or an attribute keeps the cache.
                let permanent = keys.map {
                    let key = Index.Key(entity.slots[$0.slot].permanentName, isDescending: $0.isDescending)
                    return SortKey(key, ofRole: .attribute).description
                }
                let name = "\(CacheDirectory.indexPrefix)\(entity.permanentName)(\(permanent.joined(separator: ",")))"
                return CacheRequest(name: name, order: try definition.compile(in: self))
            }
        }
    }
}

extension SortKey where Object == ManagedObject {
    /// Makes the sort key for a key of an index. For a to-one relationship, sorts by the record key of the related
    /// object.
    fileprivate init(_ key: Index.Key, ofRole role: SlotRole) {
        self.init(
            role == .reference ? "\(key.attribute).\(RelatedPath.keyName)" : key.attribute,
            key.isDescending ? .descending : .ascending)
    }
}
