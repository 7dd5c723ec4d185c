internal import FetchIndexCountedTree
internal import FetchIndexModels
internal import FetchIndexLMDB
package import FetchIndexRecords
internal import FetchIndexValues

/// The named caches of a store.
package struct CacheDirectory {
    package let store: Store

    package init(_ store: Store) { self.store = store }

    static func validate(_ name: String) throws {
        guard (1...Table.maximumKeyLength).contains(name.utf8.count) else { throw CacheError.invalidName(name) }
    }

    /// The header of a cache; nil if no cache has the name. Throws `UnusableHeader` if the header can't be used.
    package static func header(_ name: String, in reader: StoreReader) throws -> CacheHeader? {
        try validate(name)
        var header: CacheHeader?
        _ = try reader.view.get(Array(name.utf8), in: reader.tables.caches) { value in
            header = try CacheHeader(name: name, decoding: value)
        }
        return header
    }

    /// The header of a cache. Throws `CacheError.unknown` if the cache is missing, and `UnusableHeader` if the header
    /// can't be used.
    package static func existingHeader(_ name: String, in reader: StoreReader) throws -> CacheHeader {
        guard let header = try header(name, in: reader) else { throw try unknown(name, in: reader) }
        return header
    }

    static func put(_ header: CacheHeader, in writer: StoreWriter) throws {
        try writer.view.put(header.encoded, for: Array(header.name.utf8), in: writer.tables.caches)
    }

    /// The number of caches in the store, including those with damaged names.
    package static func count(in reader: StoreReader) throws -> Int {
        try reader.view.statistics(of: reader.tables.caches).entries
    }

    /// The names of the caches, in order. Damaged names, which aren't UTF-8, are left out.
    package static func names(in reader: StoreReader) throws -> [String] {
        var names: [String] = []
        try reader.view.forEachEntry(in: reader.tables.caches) { cursor in
            if let name = cursor.key.withUnsafeBytes({ String(validating: $0, as: UTF8.self) }) { names.append(name) }
        }
        return names
    }

    /// The error to throw for a name that no cache has. It suggests a similar name, if any.
    package static func unknown(_ name: String, in reader: StoreReader) throws -> CacheError {
        .unknown(name, near: NearName(try names(in: reader).nearest(to: name)))
    }

    /// The order of a cache as it's stored; nil if the cache is missing or its header can't be used. The order is
    /// opened without its request, so only its sections, positions and object numbers are right: all objects get the
    /// entity 0. O(1).
    package func storedOrder(_ name: String, in reader: StoreReader) throws -> SectionedOrder? {
        guard let header = try? Self.header(name, in: reader) else { return nil }
        return try header.order(entity: 0, shape: header.shapeForReading(), in: LMDBNodeStore(header, in: reader))
    }

    private var statistics: OpeningStatistics { OpeningStatistics(of: store) }

    /// The hits and recorded openings of a cache; empty if the cache is missing.
    package func history(of name: String, in reader: StoreReader) throws -> OpeningHistory {
        try Self.storedNumber(of: name, in: reader).map { statistics.history(of: $0, name) }
            ?? OpeningHistory([], of: name)
    }

    /// Removes damaged entries from the hits and recorded openings of a cache.
    package func repairHistory(of name: String, in reader: StoreReader) throws {
        if let number = try Self.storedNumber(of: name, in: reader) { statistics.repair(number, name) }
    }

    /// The maximum length of a node in bytes.
    package static var nodeCapacity: Int { LMDBNodeStore.nodeCapacity }

    /// Deletes a cache; if the name is nil, all caches except indexes and those with damaged names. Returns the number
    /// of deleted caches. If one of them is locked, throws `CacheError.locked`, and deletes no cache.
    @discardableResult
    package func delete(_ name: String?) throws -> Int {
        let writer = try store.beginWrite(changesRecords: false)
        if let name, Self.isIndex(name) { throw CacheError.invalidName(name) }
        let names = try name.map { [$0] } ?? Self.names(in: writer).filter { !Self.isIndex($0) }
        var count = 0
        for name in names { try Self.requireDeletable(name, in: writer) }
        for name in names where try delete(name, in: writer) { count += 1 }
        if count > 0 {
            try Self.trimLog(in: writer)
            try writer.commit()
        }
        return count
    }

    /// Unlocks the caches of an entity, by its permanent name, and deletes them, except those with damaged headers. Also
    /// deletes the caches of other format versions, which the next fetch would rebuild anyway.
    package func deleteAll(ofEntity entity: String, in writer: StoreWriter) throws {
        try Self.unlockAll(ofEntity: entity, in: writer)
        for name in try Self.names(in: writer) {
            do {
                guard try Self.header(name, in: writer)?.identity.entity == entity else { continue }
            } catch let error as UnusableHeader where error.reason == .formatChanged {
            } catch is UnusableHeader {
                continue
            }
            _ = try delete(name, in: writer)
        }
    }

    package func delete(_ name: String, in writer: StoreWriter) throws -> Bool {
        try Self.validate(name)
        try Self.change(name, isMaintained: false, in: writer)
        try Self.setUnread(nil, name, in: writer)
        if let number = try Self.number(of: name, in: writer) {
            try LMDBNodeStore.deleteNodes(of: number, in: writer)
            statistics.reset(number)
        }
        return try writer.view.delete(Array(name.utf8), in: writer.tables.caches)
    }

    /// The number of a cache, even if the rest of its header is unusable. Nil if the cache is missing, if its number is
    /// out of range, or if another cache has the same number, so that either may be wrong.
    static func number(of name: String, in reader: StoreReader) throws -> UInt32? {
        guard let number = try storedNumber(of: name, in: reader) else { return nil }
        return try storedNumbers(in: reader).filter { $0 == number }.count > 1 ? nil : number
    }

    /// The cache numbers that several headers contain because of damage: at most one of the headers is right. O(c log
    /// c) for c caches.
    package static func sharedNumbers(in reader: StoreReader) throws -> Set<UInt32> {
        var seen: Set<UInt32> = []
        var shared: Set<UInt32> = []
        for number in try storedNumbers(in: reader) where !seen.insert(number).inserted { shared.insert(number) }
        return shared
    }

    static func storedNumbers(in reader: StoreReader) throws -> [UInt32] {
        try names(in: reader).compactMap { try storedNumber(of: $0, in: reader) }
    }

    static func storedNumber(of name: String, in reader: StoreReader) throws -> UInt32? {
        var number: UInt32?
        _ = try reader.view.get(Array(name.utf8), in: reader.tables.caches) { value in
            if value.byteCount >= 6 {
                number = UInt32(littleEndian: value.unsafeLoadUnaligned(fromByteOffset: 2, as: UInt32.self))
            }
        }
        return number.flatMap { (1...LMDBNodeStore.maximumCache).contains($0) ? $0 : nil }
    }

    /// The least cache number that isn't used by a cache or by nodes in the store. O(caches x log n).
    static func newNumber(in reader: StoreReader) throws -> UInt32 {
        let used = Set(try LMDBNodeStore.caches(in: reader) + storedNumbers(in: reader))
        if let number = (1...LMDBNodeStore.maximumCache).first(where: { !used.contains($0) }) { return number }
        throw SectionedOrder.corrupted("no number for a cache is free")
    }

    /// Deletes the log's oldest commits until the log has at most `keptLogBytes`. Keeps the commits that a cache with a
    /// readable header, a readable note with `keepsLog`, a bookmark or a running build still needs. Does nothing if the log is at
    /// most a quarter longer than `keptLogBytes`, or if no cache has a readable header. In a store without caches, only
    /// the log's limit bounds the log.
    static func trimLog(in writer: StoreWriter) throws {
        let kept = writer.store.keptLogBytes
        guard writer.state.logBytes > kept + kept / 4 else { return }
        var needed: UInt64?
        for name in try names(in: writer) {
            guard let header = try? header(name, in: writer) else { continue }
            needed = min(needed ?? header.commit, header.commit)
        }
        for note in ((try? unread(in: writer)) ?? [:]).values
        where note.keepsLog && writer.logReaches(back: note.commit) {
            needed = needed.map { min($0, note.commit) }
        }
        // If the list is damaged, any commit may have a bookmark.
        guard let bookmarks = try? writer.bookmarks().values else { return }
        for bookmark in bookmarks where writer.logReaches(back: bookmark.commit) {
            needed = needed.map { min($0, bookmark.commit) }
        }
        // If the whole log is needed, nothing can be deleted. In that case, the check for a running build, which would
        // slow down each save, is left out.
        guard let needed, needed > writer.state.logStart else { return }
        let built = writer.store.commitBeingBuilt() ?? needed
        try writer.trimLog(through: min(needed, built), keeping: kept)
    }
}
