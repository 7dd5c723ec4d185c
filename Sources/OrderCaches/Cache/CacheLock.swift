internal import FetchIndexPlatform
internal import FetchIndexModels
package import FetchIndexRecords

/// A lock of a cache. While the cache is locked, other requests can't replace it, and users can't delete it, except
/// with its entity.
///
/// The lock contains the texts of the cache's request. So the lock is effective even if the cache's header can't be
/// read, or if the cache was deleted because of damaged records.
///
///     name | entity | all or own | predicate | sort | section | summaries | aggregates: eight texts
struct CacheLock {
    let name: String
    fileprivate let entity: String
    /// "all" if objects of subentities are rows too, otherwise "own".
    private let members: String
    private let predicate: String
    private let sort: String
    private let section: String
    private let aggregates: String
    private let aggregateList: String

    init(_ name: String, _ identity: CacheIdentity) {
        self.name = name
        entity = identity.entity
        members = identity.includesSubentities ? "all" : "own"
        predicate = identity.predicate
        sort = identity.sort
        section = identity.section
        aggregates = identity.aggregates
        aggregateList = identity.aggregateList
    }

    fileprivate init(_ reader: inout ByteReader) throws {
        name = try reader.text()
        entity = try reader.text()
        members = try reader.text()
        predicate = try reader.text()
        sort = try reader.text()
        section = try reader.text()
        aggregates = try reader.text()
        aggregateList = try reader.text()
    }

    private var texts: [String] { [name, entity, members, predicate, sort, section, aggregates, aggregateList] }

    fileprivate func append(to bytes: inout [UInt8]) { for text in texts { bytes.appendText(text) } }

    /// Whether an identity is that of the locked request. The attributes that are read and the versions of data and
    /// rules may differ. The aggregates are the same if either their summaries or their list is the same.
    func allows(_ identity: CacheIdentity) -> Bool {
        let other = CacheLock(name, identity)
        // Bytes are compared, because canonically equivalent texts are different values.
        let same = zip(texts, other.texts).map { $0.utf8.elementsEqual($1.utf8) }
        return same.dropLast(2).allSatisfy { $0 } && same.suffix(2).contains(true)
    }
}

extension CacheDirectory {
    static func locks(in reader: StoreReader) throws -> [String: CacheLock] {
        var locks: [String: CacheLock] = [:]
        try reader.withCacheList(.locked) { bytes in
            var reader = try ByteReader(checked: bytes, "the list of locked caches")
            for _ in 0..<(try reader.count()) {
                let lock = try CacheLock(&reader)
                locks[lock.name] = lock
            }
        }
        return locks
    }

    /// Whether a cache is locked. Returns false if the list can't be read.
    package static func isLocked(_ name: String, in reader: StoreReader) -> Bool {
        (try? locks(in: reader))?[name] != nil
    }

    /// Locks a cache for its current request, or unlocks it. Throws `CacheError`: `unknown` if the cache is missing,
    /// except to remove a lock that outlived its cache, and `invalidName` for an index. Throws `StoreError.corrupted`
    /// if the request of a cache to be locked can't be read.
    package static func setLocked(_ isLocked: Bool, _ name: String, in writer: StoreWriter) throws {
        if isIndex(name) { throw CacheError.invalidName(name) }
        var locks = try locks(in: writer)
        if isLocked {
            do {
                locks[name] = CacheLock(name, try existingHeader(name, in: writer).identity)
            } catch let error as UnusableHeader {
                throw StoreError.corrupted(
                    "the cache \"\(name)\" cannot be used (\(error.reason.rawValue)): fetch with its request first, then lock it"
                )
            }
        } else if locks.removeValue(forKey: name) == nil, try !names(in: writer).contains(name) {
            throw try unknown(name, in: writer)
        }
        try write(locks, in: writer)
    }

    /// Throws `CacheError.locked` if a request must not replace the cache of its name, because the cache is locked or
    /// the request doesn't replace others. O(log n + locked caches).
    static func requireReplaceable(_ cache: CacheRequest, in reader: StoreReader) throws {
        if isIndex(cache.name) { return }
        if let header = try? header(cache.name, in: reader) {
            // The request that built the cache doesn't replace another one, so it's allowed even if the list of locks
            // is damaged.
            if CacheLock(cache.name, header.identity).allows(cache.order.identity) { return }
            if !cache.replacesOthers { throw CacheError.locked(cache.name) }
        }
        if let lock = try locks(in: reader)[cache.name], !lock.allows(cache.order.identity) {
            throw CacheError.locked(cache.name)
        }
    }

    /// Throws `CacheError.locked` if a cache must not be deleted.
    static func requireDeletable(_ name: String, in reader: StoreReader) throws {
        if try locks(in: reader)[name] != nil { throw CacheError.locked(name) }
    }

    /// Unlocks the caches of an entity that is being removed.
    static func unlockAll(ofEntity entity: String, in writer: StoreWriter) throws {
        guard let stored = try? locks(in: writer) else { return }
        let kept = stored.filter { $0.value.entity != entity }
        if kept.count < stored.count { try write(kept, in: writer) }
    }

    /// Empties the list if it can't be read. Returns a report of the repair.
    static func repairLocks(in writer: StoreWriter) throws -> [String] {
        do { _ = try locks(in: writer) } catch  where error.isDamage {
            try write([:], in: writer)
            return ["the list of locked caches was damaged: no cache is locked now"]
        }
        return []
    }

    private static func write(_ locks: [String: CacheLock], in writer: StoreWriter) throws {
        var bytes: [UInt8] = []
        bytes.appendVarint(UInt64(locks.count))
        for lock in locks.values.sorted(by: { $0.name < $1.name }) { lock.append(to: &bytes) }
        bytes.appendChecksum()
        try writer.setCacheList(.locked, locks.isEmpty ? nil : bytes)
    }
}
