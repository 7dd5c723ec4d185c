internal import FetchIndexOrderCaches
internal import FetchIndexRecords
internal import FetchIndexModels
internal import FetchIndexValues
public import FetchIndexEssentials

extension PersistentContainer {
    /// Returns the defects of a store, one sentence each; empty if none is found. Checks the pages of its file first,
    /// because LMDB must not read a damaged page. If the pages can be read, opens the store read-only and checks its
    /// values and caches, also those on pages whose checksum is wrong. `progress` is called from time to time with the
    /// number of records read so far and the number of all records; for each cache, records are counted anew.
    /// O(n log n) for the records and for each cache. Throws `StoreError` if the store can't be opened.
    public static func check(
        at url: URL, progress: @escaping (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> [String] {
        try check(
            at: url.storePath(),
            opening: {
                try PersistentContainer(
                    storeAt: url.storePath(), isReadOnly: true, remembersOpenings: false, ignoresPageChecksums: true)
            }, progress: progress)
    }

    /// Checks the store that `open` opens, like `check(at:progress:)`.
    package static func check(
        at path: String, opening open: () throws -> PersistentContainer,
        progress: @escaping (_ done: Int, _ total: Int) -> Void
    ) throws -> [String] {
        try withPublicErrors {
            let pages = try Store.checkPages(at: path)
            guard pages.isReadable else {
                return pages.defects + ["the contents of the pages were not checked, because pages are damaged"]
            }
            return pages.defects + (try open().check(progress: progress))
        }
    }

    /// Returns the defects of the store's values and caches, one sentence each; empty if none is found.
    /// ``check(at:progress:)`` checks the pages of the file too, and reads on if the checksum of one is wrong.
    /// `progress` is called from time to time with the number of records read so far and the number of all records; for
    /// each cache, records are counted anew. O(n log n) for the records and for each cache. Throws `StoreError`, for
    /// example if the model can't be read.
    public func check(progress: @escaping (_ done: Int, _ total: Int) -> Void = { _, _ in }) throws -> [String] {
        try withPublicErrors {
            let snapshot = try store.snapshot()
            let total = try recordCount()
            var defects = try snapshot.check { progress($0, total) }
            let names = try CacheDirectory.names(in: snapshot)
            if try CacheDirectory.count(in: snapshot) != names.count { defects.append("a cache's name is not UTF-8") }
            for index in try snapshot.model.indexOrders() {
                if !names.contains(index.name) {
                    defects.append("the order of the index \"\(index.name)\" is missing")
                } else if try !cacheEngine.assess(index, in: snapshot).isCurrent {
                    defects.append("the order of the index \"\(index.name)\" is not current")
                }
            }
            defects += CacheDirectory.listDefects(in: snapshot)
            do { _ = try snapshot.bookmarks() } catch { defects.append("\(error)") }
            let shared = try CacheDirectory.sharedNumbers(in: snapshot)
            for name in names {
                let cache = "cache \"\(name)\": "
                do {
                    defects += try verifyCache(name, sharedNumbers: shared, progress: progress).map { cache + $0 }
                    let damaged = try caches.history(of: name, in: snapshot).defects
                    if damaged > 0 {
                        defects.append("\(cache)damaged entries in its history: \(damaged)")
                    }
                } catch CacheError.unknown {
                    continue  // The cache was deleted during the check.
                } catch let error as StoreError {
                    guard case .corrupted = error else { throw error }
                    defects.append("\(cache)it cannot be compared with the records: \(error)")
                }
            }
            return defects
                + (try CacheDirectory.strayCaches(in: snapshot).map {
                    "nodes with cache number \($0) belong to no cache"
                })
        }
    }

    /// Returns the defects of a cache in the newest state, one sentence each; empty if none is found. Computes the
    /// order from the records, and compares it with the cache's order; if the order can't be computed here, for example
    /// because the section key is a function of another program, checks only the cache's structure. A cache that the
    /// next fetch rebuilds anyway, because the model or ICU has changed, has no defects. `progress` is called from time
    /// to time with the number of records read so far and the number of all records. O(n log n). Throws
    /// `CacheError.unknown` if no cache has the name, `StoreError.corrupted` if the records can't be read.
    public func verifyCache(
        _ name: String, progress: @escaping (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> [String] {
        try verifyCache(name, sharedNumbers: nil, progress: progress)
    }

    /// Verifies a cache in the newest state. `shared` are the cache numbers that several caches have; if it's nil, they
    /// are determined here.
    func verifyCache(
        _ name: String, sharedNumbers shared: Set<UInt32>?,
        progress: @escaping (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> [String] {
        try withPublicErrors {
            let snapshot = try store.snapshot()
            do {
                let header = try CacheDirectory.existingHeader(name, in: snapshot)
                return try verify(header, in: snapshot, sharedNumbers: shared, progress: progress)
            } catch let error as UnusableHeader {
                return error.defects
            }
        }
    }

    /// Verifies the cache that a header describes, in a reader's state.
    func verify(
        _ header: CacheHeader, in reader: StoreReader, sharedNumbers shared: Set<UInt32>? = nil,
        progress: @escaping (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> [String] {
        try withPublicErrors {
            // If an attribute of the request was removed or converted, the cache needn't be verified: the next fetch
            // rebuilds the cache.
            guard header.identity.canBeRead(from: reader.model) else { return [] }
            var options = OrderOptions(cacheName: header.name)
            options.progress = progress
            do {
                let request = try compile(try OrderDefinition(header.identity, in: reader.model), options)
                // A cache that is stale, for example after a change of the model or of ICU's version, isn't defective.
                return request.identity == header.identity
                    ? try cacheEngine.verify(header, request, in: reader, sharedNumbers: shared) : []
            } catch is RequestError, is UnknownTimeZone, is UnusableTimeZone, is UnusableCalendar, is UnknownLocale {
                // The rows can't be computed here, for example because the section key is a function of the program
                // that built the cache, or because this machine lacks data for the request. Only the structure is
                // verified.
                return try cacheEngine.verify(header, nil, in: reader, sharedNumbers: shared)
            } catch is ModelError {
                return []
            } catch let error as FetchPredicateError {
                return ["its request cannot be read: \(error)"]
            } catch let error as StoreError {
                guard case .corrupted = error else { return [] }
                throw error
            }
        }
    }
}
