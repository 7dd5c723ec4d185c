package import Records

/// An order that is wanted: how to build it, and what it is.
package struct OrderRequest {
    package var builder: OrderBuilder
    package let identity: CacheIdentity

    package init(builder: OrderBuilder, identity: CacheIdentity) {
        self.builder = builder
        self.identity = identity
    }
}

/// How an order came to be.
package enum OrderOutcome: Equatable, Sendable {
    /// The cache was of the newest records.
    case hit
    /// The cache was behind; the change is what happened since it was last current.
    case caughtUp(OrderChange)
    case rebuilt(RebuildReason)
    /// The order has no name: it was computed in memory.
    case computed
}

/// An order of one state of the store, which it keeps as long as it lives.
package struct OpenedOrder {
    package let order: SectionedOrder
    package let outcome: OrderOutcome
    /// The state that the order is of.
    package let snapshot: Snapshot
}
