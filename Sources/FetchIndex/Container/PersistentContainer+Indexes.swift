package import FetchIndexModels
package import FetchIndexOrderCaches
package import FetchIndexRecords

extension PersistentContainer {
    /// Makes every writer keep a named cache in its own transaction, or stops that. A kept cache is never behind, and each
    /// write that changes it costs O(log n) more. O(k log n) when the cache is k changes behind; O(n log n), in one transaction,
    /// when it has to be rebuilt. Throws `StoreError`, and `ContextError.notCacheable` for a cache whose request only its program
    /// knows.
    public func setMaintained(_ isMaintained: Bool, cacheNamed name: String) throws {
        try withPublicErrors {
            let writer = try store.beginWrite()
            try CacheDirectory.setMaintained(isMaintained, name, in: writer)
            try writer.seal()
            if isMaintained {
                guard let request = try? CacheRequest(ofStored: name, in: writer) else {
                    throw ContextError.notCacheable("only its program can make the request of the cache \"\(name)\"")
                }
                try cacheEngine.open([request], in: writer, for: .establishing)
            }
            try writer.commit()
        }
    }
}

extension PersistentContainer {
    /// Locks a named cache for the request that it is of, or unlocks it. Another request that opens it then throws
    /// `StoreError.cacheLocked`, and so does its deletion; it is caught up, and rebuilt for the same request, as before. The lock is part
    /// of the store, for all processes. O(caches). Throws `StoreError`.
    public func setLocked(_ isLocked: Bool, cacheNamed name: String) throws {
        try withPublicErrors {
            let writer = try store.beginWrite(changesRecords: false)
            try CacheDirectory.setLocked(isLocked, name, in: writer)
            try writer.commit()
        }
    }
}

extension CacheEngine {
    /// Brings all orders that every writer keeps to the commit of a sealed writer, except those that it has brought already.
    package func keepAll(in writer: StoreWriter, except brought: [String] = [], known: KnownChanges? = nil) throws {
        var kept = try writer.model.indexOrders()
        // A damaged list must not stop writers, nor a cache that cannot be read: the next fetch of its request rebuilds it.
        for name in (try? CacheDirectory.maintained(in: writer)) ?? [] {
            if let request = try? CacheRequest(ofStored: name, in: writer) { kept.append(request) }
        }
        try open(kept.filter { !brought.contains($0.name) }, in: writer, for: .keeping, known: known)
    }

    /// Builds the orders of the indexes that a migration has added or changed, and deletes those that it has removed.
    func matchIndexes(in writer: StoreWriter, from old: Model) throws {
        let wanted = try writer.model.indexOrders()
        let names = Set(wanted.map(\.name))
        for name in try CacheDirectory.names(in: writer)
        where CacheDirectory.isIndex(name) && !names.contains(name) {
            _ = try directory.delete(name, in: writer)
        }
        let present = Dictionary(try old.indexOrders().map { ($0.name, $0.order.identity) }) { first, _ in first }
        // An index also reads other attributes when a subentity was added; and so does a maintained cache.
        let added = try wanted.filter { present[$0.name] != $0.order.identity } + changedMaintained(in: writer)
        try open(added, in: writer, for: .establishing)
        try keepAll(in: writer, except: added.map(\.name))
    }
}

extension CacheEngine {
    /// The maintained caches whose requests read other attributes in the writer's model than they did.
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
    /// The request of a stored cache, as its header tells it.
    package init?(ofStored name: String, in reader: StoreReader) throws {
        guard let header = try CacheDirectory.header(name, in: reader) else { return nil }
        let definition = try OrderDefinition(header.identity, in: reader.model)
        self.init(name: name, order: try definition.compile(in: reader.model))
    }
}

extension Model {
    /// The orders of all indexes, under the names of their caches.
    package func indexOrders() throws -> [CacheRequest] {
        try entities.filter { !$0.indexKeys.isEmpty }.flatMap { entity in
            try zip(entity.indexes, entity.indexKeys).map { index, keys in
                let sortKeys = zip(index.keys, keys).map { SortKey($0, ofRole: entity.slots[$1.slot].role) }
                let definition = OrderDefinition(entity: entity.name, sortKeys: sortKeys)
                // A renamed attribute keeps the cache.
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
    /// Of a to-one relationship: by the key of the related object.
    fileprivate init(_ key: Index.Key, ofRole role: SlotRole) {
        self.init(
            role == .reference ? "\(key.attribute).\(RelatedPath.keyName)" : key.attribute,
            key.isDescending ? .descending : .ascending)
    }
}
