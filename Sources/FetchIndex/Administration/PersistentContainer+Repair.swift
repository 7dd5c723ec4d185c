internal import FetchIndexOrderCaches
internal import FetchIndexRecords
internal import FetchIndexModels
public import FetchIndexEssentials

/// The defects that a repair found, the repairs that it made, and the defects that remain, one sentence each.
public struct StoreRepair: Encodable, Sendable {
    /// The defects before the repair.
    public let defects: [String]
    /// The repairs that were made.
    public let repairs: [String]
    /// The defects that remain, for example damaged records, which a repair doesn't change. If pages of the file can't
    /// be read: these pages, and the advice to restore a backup. If checksums of pages are wrong: these pages, and advice.
    /// Pages that are neither used nor free stay, too.
    public let left: [String]
}

extension PersistentContainer {
    /// Checks a store, repairs data derived from its records, and checks it again. Repairs unique keys, links,
    /// counters, zones, the log (by trimming it through the last damaged commit), and caches (by rebuilding them; a
    /// cache whose request can't be compiled here is deleted). Replaces damaged lists of maintained, locked and unread
    /// caches, and a damaged identifier of the store. Records are changed or deleted only if they refer to objects
    /// which are missing or of a wrong entity. If pages can't be read, or checksums of pages with records are wrong, no
    /// repair is made.
    ///
    /// The repairs are one transaction, except two: a damaged state is repaired first, and the histories of caches,
    /// which are in a file of their own, last. `progress` is called from time to time with the number of records read
    /// so far and the number of all records; for each check and each cache, records are counted anew. Throws
    /// `StoreError`, for example if the store's model can't be read. O(n log n) for the records and for each cache.
    @discardableResult
    public static func repair(
        at url: URL, progress: @escaping (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> StoreRepair {
        try withPublicErrors {
            let path = try url.storePath()
            let pages = try Store.checkPages(at: path)
            if let refusal = try refusal(to: pages, of: url, progress) { return refusal }
            let state = try CacheDirectory.repairState(ofStoreAt: path).map { [$0] } ?? []
            var options = Store.Options()
            options.creates = false
            options.ignoresPageChecksums = true
            let container = try PersistentContainer(path: path, options: options)
            let defects = state + (try container.check(progress: progress))
            if defects.isEmpty {
                return StoreRepair(defects: pages.defects, repairs: [], left: try pagesLeft(after: pages, at: path))
            }
            let repairs = try state + container.repairAll(progress)
            let left = try container.check(progress: progress)
            return StoreRepair(
                defects: pages.defects + defects, repairs: repairs,
                left: try pagesLeft(after: pages, at: path) + left)
        }
    }

    /// The outcome for pages that forbid a repair: they can't be read, or objects on them may have wrong numbers. Nil for
    /// other pages.
    private static func refusal(
        to pages: PageCheck, of url: URL, _ progress: @escaping (_ done: Int, _ total: Int) -> Void
    ) throws -> StoreRepair? {
        if !pages.isReadable {
            let advice = "nothing can be repaired while pages are damaged: restore a backup"
            return StoreRepair(defects: pages.defects, repairs: [], left: pages.defects + [advice])
        }
        if pages.mayHaveWrongObjects {
            let found = try check(at: url, progress: progress)
            let advice =
                "nothing is repaired, because objects on pages with wrong checksums may have wrong numbers: restore a backup, or export the records that are not damaged"
            return StoreRepair(defects: found, repairs: [], left: found + [advice])
        }
        return nil
    }

    /// Repairs what follows from records, lists and caches, in one transaction, and then the histories of caches. Returns
    /// what was repaired.
    private func repairAll(_ progress: (_ done: Int, _ total: Int) -> Void) throws -> [String] {
        let writer = try store.beginWrite(changesRecords: false)
        let total = try recordCount()
        var repairs = try CacheDirectory.repairLists(in: writer) + writer.repairBookmarks()
        repairs += try writer.repair { progress($0, total) }
        for name in try CacheDirectory.names(in: writer) {
            if let repair = try repairCache(name, in: writer) { repairs.append(repair) }
        }
        repairs += try CacheDirectory.removeStrays(in: writer)
        try writer.seal()
        repairs += try buildMissingIndexes(in: writer)
        try cacheEngine.keepAll(in: writer)
        try writer.commit()
        return repairs + (try repairHistories())
    }

    /// The defects of pages that remain after a repair, with advice if only checksums are wrong.
    private static func pagesLeft(after before: PageCheck, at path: String) throws -> [String] {
        if before.defects.isEmpty { return [] }
        let pages = try Store.checkPages(at: path)
        return pages.hasOnlyWrongChecksums
            ? pages.defects + ["`compact` writes these pages anew, with right checksums"] : pages.defects
    }

    /// Removes damaged entries from the caches' histories. Returns a description of each repair.
    private func repairHistories() throws -> [String] {
        let snapshot = try store.snapshot()
        return try CacheDirectory.names(in: snapshot).compactMap { name in
            let damaged = try caches.history(of: name, in: snapshot).defects
            if damaged == 0 { return nil }
            try caches.repairHistory(of: name, in: snapshot)
            return "damaged entries removed from the history of the cache \"\(name)\": \(damaged)"
        }
    }

    /// Builds the missing caches of indexes. Skips an index whose records are damaged. Returns a description of each
    /// repair.
    private func buildMissingIndexes(in writer: StoreWriter) throws -> [String] {
        let names = try CacheDirectory.names(in: writer)
        return try writer.model.indexOrders().filter { !names.contains($0.name) }.compactMap { index in
            do { try cacheEngine.open(index, in: writer, for: .establishing) } catch StoreError.corrupted {
                return nil
            }
            return "the order of the index \"\(index.name)\" was missing: built"
        }
    }

    /// Repairs a cache, and describes the repair. Returns nil if the cache is intact or has another format, or if
    /// damaged records prevent its verification.
    private func repairCache(_ name: String, in writer: StoreWriter) throws -> String? {
        let header: CacheHeader
        do {
            guard let found = try CacheDirectory.header(name, in: writer) else { return nil }
            header = found
        } catch let error as UnusableHeader {
            if error.reason == .formatChanged { return nil }
            return try caches.remove(name, because: "its request cannot be read", in: writer)
        }
        do {
            if try verify(header, in: writer).isEmpty { return nil }
        } catch let error as StoreError {
            guard case .corrupted = error else { throw error }
            return nil
        }
        guard let definition = try? OrderDefinition(header.identity, in: writer.model),
            let request = try? compile(definition, OrderOptions(cacheName: name))
        else { return try caches.remove(name, because: "its request cannot be read here", in: writer) }
        return try cacheEngine.repair(name, request, in: writer)
    }
}
