internal import FetchIndexOrderCaches
package import FetchIndexModels
internal import FetchIndexRecords

/// One state of a store, pinned while this value lives.
///
/// For reports, whose parts are all of one commit. Users have contexts: their state is pinned too, and objects are read
/// in it.
package struct PinnedState {
    private let container: PersistentContainer
    let snapshot: Snapshot

    init(_ container: PersistentContainer) throws {
        self.container = container
        snapshot = try container.store.snapshot()
    }

    package var commit: UInt64 { snapshot.commit }
    /// The version of the model, which grows with each change of the store's model.
    package var modelVersion: UInt32 { snapshot.modelVersion }
    /// The stored model. It includes dropped entities, and the entities of links.
    package var model: Model { snapshot.model }

    // MARK: Caches

    /// The names of the caches, sorted. O(caches).
    package func cacheNames() throws -> [String] { try withPublicErrors { try CacheDirectory.names(in: snapshot) } }

    /// The facts of a cache. O(log n). Throws `StoreError`: `unknownCache` if no cache has the name.
    package func facts(ofCache name: String) throws -> NamedCache {
        try withPublicErrors { NamedCache(try container.cacheEngine.facts(of: name, in: snapshot), in: snapshot.model) }
    }

    /// The facts of a cache with the size of its order. O(nodes). Throws like `facts`.
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

    /// The stored order of a cache, current or not; nil if it can't be used. O(1).
    package func storedOrder(ofCache name: String) throws -> StoredOrder? {
        try withPublicErrors {
            try container.caches.storedOrder(name, in: snapshot).map(StoredOrder.init)
        }
    }

    /// The change of a current cache's order since a commit. Nil if the cache isn't current, the log doesn't reach
    /// back, more than `most` records changed, or the order depends on related objects. O(k log n) for k changes.
    package func change(ofCache name: String, since commit: UInt64, mostRecords most: Int) throws -> ResultsChange? {
        try withPublicErrors {
            guard let request = try? CacheRequest(ofStored: name, in: snapshot) else { return nil }
            let change = try container.cacheEngine.change(of: request, since: commit, limit: most, in: snapshot)
            return change?.identified { container.id(of: $0, in: snapshot.model) }
        }
    }

    // MARK: Commits

    /// The commits in the log, oldest first. O(commits).
    package func commits() throws -> [CommitCounts] {
        try withPublicErrors { try snapshot.commits(after: 0).map(CommitCounts.init) }
    }
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
            // A damaged log may have any numbers.
            inserted &+= changes.inserted
            updated &+= changes.updated
            deleted &+= changes.deleted
        }
    }
}
