package import FetchIndexCountedTree
internal import FetchIndexPlatform

/// An order whose changed nodes are in memory, over a base order that isn't changed. Dropping the fork drops its
/// changes.
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

    /// Like `SectionedOrder.update`. After an error, drop the fork.
    @discardableResult
    mutating func update(
        _ edits: OrderEdits, postponingRanks: Bool = false, with crew: Crew? = nil
    ) throws -> ChangedPlaces {
        try order.update(edits, postponingRanks: postponingRanks, with: crew)
    }

    /// Writes the changed nodes into the base's store, or one that continues it, and returns the order there. O(k log
    /// k) for k nodes. Throws only the errors of the store's writes.
    package func publish(to nodes: any NodeStore) throws -> SectionedOrder {
        try fork.publish(to: nodes)
        return order.reopened(in: nodes)
    }

    /// Writes the changed nodes into the fork that this one is based on, and returns that fork with this one's order.
    func publish(to base: ForkedOrder) -> ForkedOrder {
        fork.publish(to: base.fork)
        return ForkedOrder(order, in: base.fork)
    }

    /// This fork, based on the base's nodes in another store.
    func rebased(over nodes: any NodeStore) -> ForkedOrder { ForkedOrder(order, in: fork.rebased(over: nodes)) }
}
