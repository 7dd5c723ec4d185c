package import FetchIndexModels
package import FetchIndexCountedTree
package import FetchIndexRecords

/// How an order was obtained.
package enum OrderOutcome: Equatable, Sendable {
    /// The cache was current.
    case hit
    /// The cache was behind; the change is the one since its commit.
    case caughtUp(OrderChange<RecordKey>)
    /// The cache was behind; the change isn't computed yet.
    case pending
    case rebuilt(RebuildReason)
    /// The order has no cache: it was computed in memory.
    case computed

    /// The outcome of catching up a cache: a hit if nothing changed in its order.
    init(of change: OrderChange<RecordKey>) { self = change.isEmpty ? .hit : .caughtUp(change) }
}

/// The order in one state of the store: how it was obtained, and where it is stored.
package struct OpenedOrder {
    package enum Place {
        /// The order is in its cache.
        case stored(CacheHeader)
        /// The order is in a fork over its cache, which is behind.
        case fork(CacheHeader)
        case memory(MemoryNodeStore)

        /// The header of the cache; nil without a cache.
        package var header: CacheHeader? {
            switch self {
            case .stored(let header), .fork(let header): header
            case .memory: nil
            }
        }
    }

    package private(set) var order: SectionedOrder
    package private(set) var outcome: OrderOutcome
    package private(set) var place: Place
    /// The cache's previous commit; nil if the order was built without one.
    package let start: UInt64?
    /// The number of all rows, even if the order has only the first of them.
    package let memberCount: Int

    init(
        _ order: SectionedOrder, _ outcome: OrderOutcome, in place: Place, from start: UInt64? = nil,
        memberCount: Int? = nil
    ) {
        self.memberCount = memberCount ?? order.rowCount
        self.order = order
        self.outcome = outcome
        self.place = place
        self.start = start
    }

    /// Whether the order is in its cache, where other readers of the same state find it.
    package var isStored: Bool { if case .stored = place { true } else { false } }

    /// Sets a pending change; does nothing if the change isn't pending.
    package mutating func take(_ change: OrderChange<RecordKey>) {
        if case .pending = outcome { outcome = OrderOutcome(of: change) }
    }

    /// The change since the cache's commit `start`; nil if the order was built, or its change isn't known yet.
    var change: OrderChange<RecordKey>? {
        switch outcome {
        case .hit: OrderChange()
        case .caughtUp(let change): change
        case .pending, .rebuilt, .computed: nil
        }
    }

    /// This order, read from its cache after it was stored there.
    func stored(_ header: CacheHeader, in reader: StoreReader) -> OpenedOrder {
        var stored = self
        stored.place = .stored(header)
        stored.order = order.reopened(in: LMDBNodeStore(header, in: reader))
        return stored
    }

    /// This stored order, read through a snapshot of the state in which it was stored.
    package func reopened(in snapshot: Snapshot) -> OpenedOrder {
        guard case .stored(let header) = place else { return self }
        return stored(header, in: snapshot)
    }

    func with(_ outcome: OrderOutcome) -> OpenedOrder { with(outcome, from: start) }

    func with(_ outcome: OrderOutcome, from start: UInt64?) -> OpenedOrder {
        OpenedOrder(order, outcome, in: place, from: start)
    }
}

/// A requested order: how to build it, and its fingerprint.
package struct OrderRequest {
    package var builder: OrderBuilder
    package let identity: CacheIdentity

    package init(builder: OrderBuilder, identity: CacheIdentity) {
        self.builder = builder
        self.identity = identity
    }
}

/// An order requested under a cache's name.
package struct CacheRequest {
    package let name: String
    package let order: OrderRequest
    /// Whether the exact change is required at any cost, as long as the log reaches back. Otherwise an order with too
    /// many changes is rebuilt.
    package var needsExactChange: Bool
    /// The author of the opening, for the cache's statistics.
    package let author: String
    /// Whether a rebuild is noted as unread.
    var notesRebuilds = false
    /// Whether a cache of another request with the same name is replaced.
    package var replacesOthers = true
    /// The maximum time that a build waits for another writer; nil means no limit.
    package var writeTimeout: Duration?

    package init(name: String, order: OrderRequest, needsExactChange: Bool = false, author: String = "") {
        self.name = name
        self.order = order
        self.needsExactChange = needsExactChange
        self.author = author
    }
}
