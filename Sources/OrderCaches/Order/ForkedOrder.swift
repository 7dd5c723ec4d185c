package import FetchIndexCountedTree
internal import FetchIndexPlatform

/// An order whose changed nodes are in memory, over an order that stays as it is. Dropping it drops its changes.
package struct ForkedOrder {
    package private(set) var order: SectionedOrder
    private let fork: ForkNodeStore

    package init(over base: SectionedOrder) {
        self.init(base, in: ForkNodeStore(over: base.nodes))
    }

    private init(_ order: SectionedOrder, in fork: ForkNodeStore) {
        self.fork = fork
        self.order = order.reopened(in: fork)
    }

    /// As `SectionedOrder.update`. After an error, drop the fork.
    @discardableResult
    mutating func update(
        _ edits: OrderEdits, postponingRanks: Bool = false, with crew: Crew? = nil
    ) throws -> ChangedPlaces {
        try order.update(edits, postponingRanks: postponingRanks, with: crew)
    }

    /// Writes the changed nodes into the base's store, or one that continues it, and returns the order there.
    /// O(k log k) for k nodes. Throws only what the store's writes throw.
    package func publish(to nodes: any NodeStore) throws -> SectionedOrder {
        try fork.publish(to: nodes)
        return order.reopened(in: nodes)
    }

    /// Writes the changed nodes into the fork that this one is made over, and returns that one.
    func publish(to base: ForkedOrder) -> ForkedOrder {
        fork.publish(to: base.fork)
        return ForkedOrder(order, in: base.fork)
    }

    /// The same changes over the base's nodes in another store.
    func rebased(over nodes: any NodeStore) -> ForkedOrder { ForkedOrder(order, in: fork.rebased(over: nodes)) }
}
