package import FetchIndexModels
package import FetchIndexCountedTree
package import FetchIndexRecords

/// The order of a request in one state of the store, with the way it was opened and the place of its nodes.
package struct OpenedOrder {
    /// Two cases are indirect, because headers are large.
    package enum Place {
        /// The nodes are in the cache.
        indirect case stored(CacheHeader)
        /// The nodes are in a fork over the cache, which is behind. The fork is nil if no later change affects the
        /// order.
        indirect case fork(CacheHeader, edited: ForkedOrder?)
        case memory(MemoryNodeStore)

        /// The header of the cache; nil if the order is in memory.
        package var header: CacheHeader? {
            switch self {
            case .stored(let header), .fork(let header, _): header
            case .memory: nil
            }
        }
    }

    package private(set) var order: SectionedOrder
    package private(set) var outcome: OrderOutcome<RecordKey>
    package private(set) var place: Place
    /// The commit since which the outcome is the change: the cache's commit before the opening, or an older one if the
    /// cache's exact reader hadn't received earlier changes. No meaning if the order was rebuilt or computed.
    package let start: UInt64?
    /// The number of rows. If only the first members are rows and the caller wanted to know (`WantedRows`), the number
    /// of all members.
    package let memberCount: Int

    /// This order as it was at an earlier commit, in a fork.
    package func at(_ past: PastOrder) -> OpenedOrder { OpenedOrder(past.order, .computed, in: place) }

    init(
        _ order: SectionedOrder, _ outcome: OrderOutcome<RecordKey>, in place: Place, from start: UInt64? = nil,
        memberCount: Int? = nil
    ) {
        self.memberCount = memberCount ?? order.rowCount
        self.order = order
        self.outcome = outcome
        self.place = place
        self.start = start
    }

    /// Whether the order's nodes are in its cache, so that other readers of the same state can use them.
    package var isStored: Bool { if case .stored = place { true } else { false } }

    /// Whether the order was caught up and isn't stored in its cache.
    var isFork: Bool { if case .fork = place { true } else { false } }

    /// The change since the commit `start`; nil if the order was built, or if the change isn't known.
    var change: OrderChange<RecordKey>? {
        switch outcome {
        case .hit: OrderChange()
        case .caughtUp(let change): change
        case .pending, .rebuilt, .computed: nil
        }
    }

    /// Returns this order as read from its cache, after it was stored there.
    func stored(_ header: CacheHeader, in reader: StoreReader) -> OpenedOrder {
        var stored = self
        stored.place = .stored(header)
        stored.order = order.reopened(in: LMDBNodeStore(header, in: reader))
        return stored
    }

    /// Returns this stored order as read through a snapshot of the state in which it was stored.
    package func reopened(in snapshot: Snapshot) -> OpenedOrder {
        guard case .stored(let header) = place else { return self }
        return stored(header, in: snapshot)
    }

    func with(_ outcome: OrderOutcome<RecordKey>, from start: UInt64?) -> OpenedOrder {
        OpenedOrder(order, outcome, in: place, from: start)
    }
}

/// A requested order: the rules for building it, and its fingerprint.
package struct OrderRequest {
    package var builder: OrderBuilder
    package let identity: CacheIdentity

    package init(builder: OrderBuilder, identity: CacheIdentity) {
        self.builder = builder
        self.identity = identity
    }
}

/// What a rebuild of a cache notes as unread, for the exact reader.
enum RebuildNote {
    /// Nothing, unless the cache has a note already: then the rebuild.
    case none
    case rebuild
    /// The changes after a commit: the reader can compare the order at this commit with the rebuilt one.
    case changes(since: UInt64)
}

/// A request for an order in a cache of this name.
package struct CacheRequest {
    package let name: String
    package let order: OrderRequest
    /// Whether the change must be exact, however large, as long as the log reaches back. If not, an order with too many
    /// changes is rebuilt.
    package var needsExactChange: Bool
    /// The author of the opening, for the statistics of the cache.
    package let author: String
    /// What a rebuild notes as unread, for the cache's exact reader.
    var rebuildNote = RebuildNote.none
    /// Whether the request may replace a cache of another request with the same name.
    package var replacesOthers = true
    /// The maximum time that a build waits for another writer or another build. If it's nil, only the wait for another
    /// build is limited.
    package var writeTimeout: Duration?

    package init(name: String, order: OrderRequest, needsExactChange: Bool = false, author: String = "") {
        self.name = name
        self.order = order
        self.needsExactChange = needsExactChange
        self.author = author
    }
}

/// The result of opening a cache, for a caller that decides itself what happens to an unusable one.
package enum CacheAttempt<Opened> {
    case opened(Opened)
    /// The cache must be rebuilt, and this opening hasn't rebuilt it.
    case unusable(RebuildReason)

    package var opened: Opened? { if case .opened(let opened) = self { opened } else { nil } }

    package func map<Result>(_ transform: (Opened) -> Result) -> CacheAttempt<Result> {
        switch self {
        case .opened(let opened): .opened(transform(opened))
        case .unusable(let reason): .unusable(reason)
        }
    }
}

extension CacheAttempt<OpenedOrder> {
    /// The opened order; that of an unusable cache is computed in memory, O(n log n).
    package func order(of request: OrderRequest, in reader: StoreReader) throws -> OpenedOrder {
        switch self {
        case .opened(let opened): opened
        case .unusable(let reason): try CacheEngine.compute(request, in: reader, .rebuilt(reason))
        }
    }
}
