internal import FetchIndexOrderCaches
package import FetchIndexModels
internal import FetchIndexRecords

/// One state of a store, pinned as long as this lives.
///
/// For reports, whose parts are all of one commit. Users have contexts: their state is pinned too, and objects are read in it.
package struct PinnedState {
    private let container: PersistentContainer
    let snapshot: Snapshot

    init(_ container: PersistentContainer) throws {
        self.container = container
        snapshot = try container.store.snapshot()
    }

    package var commit: UInt64 { snapshot.commit }
    /// Grows with each change of the store's model.
    package var modelVersion: UInt32 { snapshot.modelVersion }
    /// The stored model, with entities that were dropped and those of links.
    package var model: Model { snapshot.model }

    // MARK: Caches

    /// The names of the caches, in order. O(caches).
    package func cacheNames() throws -> [String] { try withPublicErrors { try CacheDirectory.names(in: snapshot) } }

    /// O(log n). Throws `StoreError`, `unknownCache` for a name that no cache has.
    package func facts(ofCache name: String) throws -> NamedCache {
        try withPublicErrors { NamedCache(try container.cacheEngine.facts(of: name, in: snapshot), in: snapshot.model) }
    }

    /// O(nodes). Throws as `facts`.
    package func statistics(ofCache name: String) throws -> CacheStatistics {
        try withPublicErrors {
            let facts = try container.cacheEngine.facts(of: name, countingNodes: true, in: snapshot)
            return CacheStatistics(facts, in: snapshot.model)
        }
    }

    /// The request that a cache is of; nil for a name that no cache has. O(log n).
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

    /// The order of a cache as it is stored, current or not; nil when it cannot be used. O(1).
    package func storedOrder(ofCache name: String) throws -> StoredOrder? {
        try withPublicErrors {
            try container.caches.storedOrder(name, in: snapshot).map(StoredOrder.init)
        }
    }

    /// The change of a current cache's order since a commit. Nil when the cache is not current, when the log does not reach back, when
    /// more than `most` records changed, and for orders that depend on other objects. O(k log n) for k changes.
    package func change(ofCache name: String, since commit: UInt64, mostRecords most: Int) throws -> ResultsChange? {
        try withPublicErrors {
            guard let request = try? CacheRequest(ofStored: name, in: snapshot) else { return nil }
            let change = try container.cacheEngine.change(of: request, since: commit, limit: most, in: snapshot)
            return change.map { ResultsChange($0) { container.id(of: $0, in: snapshot.model) } }
        }
    }

    // MARK: Commits

    /// The commits that the log holds, oldest first. O(commits).
    package func commits() throws -> [CommitCounts] {
        try withPublicErrors { try snapshot.commits(after: 0).map(CommitCounts.init) }
    }
}

extension PersistentContainer {
    /// The newest state. O(1).
    package func pinnedState() throws -> PinnedState { try withPublicErrors { try PinnedState(self) } }

    /// The number of the newest commit, of any process. O(1).
    package func newestCommit() throws -> UInt64 { try withPublicErrors { try store.snapshot().commit } }
}

/// How many objects a commit changed.
///
/// For charts of the log. Users have ``ManagedObjectContext/fetchHistory(after:)``, which names the objects.
package struct CommitCounts: Sendable {
    /// Seconds since 1970.
    package let time: Double
    package private(set) var inserted = 0
    package private(set) var updated = 0
    package private(set) var deleted = 0

    init(_ header: CommitHeader) {
        time = header.time
        for changes in header.changes.values {
            // A damaged log may have any numbers.
            inserted &+= changes.inserted
            updated &+= changes.updated
            deleted &+= changes.deleted
        }
    }
}
