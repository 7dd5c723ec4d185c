internal import FetchIndexOrderCaches
package import FetchIndexModels
internal import FetchIndexRecords

/// One state of a store, pinned while this value lives.
///
/// For reports, whose parts must all show one commit. Users have contexts, which pin a state too and read objects in
/// it.
package struct PinnedState {
    private let container: PersistentContainer
    let snapshot: Snapshot

    init(_ container: PersistentContainer) throws {
        self.container = container
        snapshot = try container.store.snapshot()
    }

    package var commit: UInt64 { snapshot.commit }
    /// The version of the stored model, which grows with each change of the model.
    package var modelVersion: UInt32 { snapshot.modelVersion }
    /// The stored model, including dropped entities and the join entities of many-to-many relationships.
    package var model: Model { snapshot.model }

    // MARK: Caches

    /// The names of the caches, sorted. O(caches).
    package func cacheNames() throws -> [String] { try withPublicErrors { try CacheDirectory.names(in: snapshot) } }

    /// The facts of a cache. O(caches + log n), and O(log n) for each commit since the cache's commit, or since the
    /// commit that its exact reader last received, if that is older. Throws `CacheError.unknown` if no cache has
    /// the name.
    package func facts(ofCache name: String) throws -> NamedCache {
        try withPublicErrors { NamedCache(try container.cacheEngine.facts(of: name, in: snapshot), in: snapshot.model) }
    }

    /// The facts of a cache with the size of its order. O(nodes), and the cost of `facts`. Throws like `facts`.
    package func statistics(ofCache name: String) throws -> CacheStatistics {
        try withPublicErrors {
            let facts = try container.cacheEngine.facts(of: name, countingNodes: true, in: snapshot)
            return CacheStatistics(facts, in: snapshot.model)
        }
    }

    /// The request of a cache; nil if no cache has the name. O(log n).
    package func request(ofCache name: String) throws -> StoredRequest? {
        try withPublicErrors {
            do {
                guard let header = try CacheDirectory.header(name, in: snapshot) else { return nil }
                return .readable(ReadableRequest(header.identity, name, in: container, snapshot))
            } catch let error as UnusableHeader {
                return .unusable(error.reason)
            }
        }
    }

    /// The stored order of a cache, even if it isn't current; nil if the cache is missing or its header can't be used.
    package func storedOrder(ofCache name: String) throws -> StoredOrder? {
        try withPublicErrors {
            try container.caches.storedOrder(name, in: snapshot).map(StoredOrder.init)
        }
    }

    /// The change of a current cache's order since a commit. Returns nil if the cache isn't current or its request
    /// can't be read, if the log doesn't reach back to the commit or the commit is newer than this state, if the
    /// commits since then have more than `most` changes of records, or if the order depends on related objects. O(k log
    /// n) for k changes.
    package func change(ofCache name: String, since commit: UInt64, mostRecords most: Int) throws -> ResultsChange? {
        try withPublicErrors {
            guard let request = try? CacheRequest(ofStored: name, in: snapshot) else { return nil }
            let change = try container.cacheEngine.change(of: request, since: commit, limit: most, in: snapshot)
            return change?.identified { container.id(of: $0, in: snapshot.model) }
        }
    }

    // MARK: Commits

    /// The commit of a point. Throws `StoreError.unknownBookmark`, and `logTooShort` for a time before the log.
    package func commit(of point: StorePoint) throws -> UInt64 {
        try withPublicErrors { try point.commit(in: snapshot) }
    }

    /// The commits in the log after a commit, oldest first. O(k log n) for k commits.
    package func commits(after commit: UInt64 = 0) throws -> [CommitCounts] {
        try withPublicErrors { try snapshot.commits(after: commit).map(CommitCounts.init) }
    }

    /// The time of this state's commit, in seconds since 1970; nil if the log doesn't have it. O(log n).
    package func commitTime() throws -> Double? { try commits(after: commit == 0 ? 0 : commit - 1).last?.time }
}

extension PersistentContainer {
    /// Pins the newest state. O(1).
    package func pinnedState() throws -> PinnedState { try withPublicErrors { try PinnedState(self) } }

    /// The number of the newest commit of any process. O(1).
    package func newestCommit() throws -> UInt64 { try withPublicErrors { try store.snapshot().commit } }
}

/// The number of objects that a commit changed.
///
/// For charts of the log. Users have ``ManagedObjectContext/fetchHistory(after:)``, which names the objects.
package struct CommitCounts: Sendable {
    /// The time of the commit, in seconds since 1970.
    package let time: Double
    package private(set) var inserted = 0
    package private(set) var updated = 0
    package private(set) var deleted = 0

    init(_ header: CommitHeader) {
        time = header.time
        for changes in header.changes.values {
            // Wrapping addition, because the numbers of a damaged log may be arbitrarily large.
            inserted &+= changes.inserted
            updated &+= changes.updated
            deleted &+= changes.deleted
        }
    }
}
