internal import FetchIndexModels
package import FetchIndexCountedTree
package import FetchIndexRecords

/// How an order came to be.
package enum OrderOutcome: Equatable, Sendable {
    /// The cache was current.
    case hit
    /// The cache was behind; the change is what happened since its commit.
    case caughtUp(OrderChange)
    /// The cache was behind; the change is not known yet.
    case pending
    case rebuilt(RebuildReason)
    /// The order has no cache: it was computed in memory.
    case computed

    /// Of a cache that was caught up: it may be that nothing changed.
    init(of change: OrderChange) { self = change.isEmpty ? .hit : .caughtUp(change) }
}

/// The order of one state of the store: what opening it did, and where it lives.
package struct OpenedOrder {
    package enum Place {
        /// In its cache.
        case stored(CacheHeader)
        /// In a fork over its cache, which is behind.
        case fork(CacheHeader)
        case memory(MemoryNodeStore)

        /// Of the cache; nil without one.
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
    /// The commit that the cache had before; nil for an order that was built without one.
    package let start: UInt64?
    /// How many rows there are, also when the order has only the first of them.
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

    /// Whether a reader of the same state finds it in its cache.
    package var isStored: Bool { if case .stored = place { true } else { false } }

    /// Takes the change that is pending; any other order stays as it is.
    package mutating func take(_ change: OrderChange) {
        if case .pending = outcome { outcome = OrderOutcome(of: change) }
    }

    /// The change since the cache's commit `start`; nil when the order was built, or its change is not known yet.
    var change: OrderChange? {
        switch outcome {
        case .hit: OrderChange()
        case .caughtUp(let change): change
        case .pending, .rebuilt, .computed: nil
        }
    }

    /// The same order, which its cache has by now.
    func stored(_ header: CacheHeader, in reader: StoreReader) -> OpenedOrder {
        var stored = self
        stored.place = .stored(header)
        stored.order = order.reopened(in: LMDBNodeStore(header, in: reader))
        return stored
    }

    /// The same stored order, read through a snapshot of the state that it was stored in.
    package func reopened(in snapshot: Snapshot) -> OpenedOrder {
        guard case .stored(let header) = place else { return self }
        return stored(header, in: snapshot)
    }

    func with(_ outcome: OrderOutcome) -> OpenedOrder { with(outcome, from: start) }

    func with(_ outcome: OrderOutcome, from start: UInt64?) -> OpenedOrder {
        OpenedOrder(order, outcome, in: place, from: start)
    }
}

/// An order that is wanted: how to build it, and its fingerprint.
package struct OrderRequest {
    package var builder: OrderBuilder
    package let identity: CacheIdentity

    package init(builder: OrderBuilder, identity: CacheIdentity) {
        self.builder = builder
        self.identity = identity
    }
}

/// An order that is wanted under a cache's name.
package struct CacheRequest {
    package let name: String
    package let order: OrderRequest
    /// Whether the exact change is wanted at any cost, as long as the log reaches back. Else an order with too many changes
    /// is rebuilt.
    package var needsExactChange: Bool
    /// Who opens the cache, for its statistics.
    package let author: String
    /// Whether a rebuild is noted as unread.
    var notesRebuilds = false
    /// Whether a cache of another request that has the name is replaced.
    package var replacesOthers = true
    /// How long a build waits for another writer; nil: without limit.
    package var writeTimeout: Duration?

    package init(name: String, order: OrderRequest, needsExactChange: Bool = false, author: String = "") {
        self.name = name
        self.order = order
        self.needsExactChange = needsExactChange
        self.author = author
    }
}
