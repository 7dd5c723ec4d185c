package import FetchIndexCountedTree

/// An order whose changed nodes are in memory, over a base order that stays as it is until the fork is published.
/// Dropping the fork drops its changes.
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

    /// Applies changes like `SectionedOrder.update`. After an error, the fork must be dropped.
    @discardableResult
    mutating func update(_ edits: OrderEdits) throws -> ChangedPlaces { try order.update(edits) }

    /// Writes the changed nodes to the base's store, or to another store with the base's nodes. Returns the order in
    /// that store. Throws only if the store's writes throw. O(k log k) for k changed nodes, in addition to the store's
    /// writes.
    package func publish(to nodes: any NodeStore) throws -> SectionedOrder {
        try fork.publish(to: nodes)
        return order.reopened(in: nodes)
    }

    /// Publishes the changed nodes to the fork over which this fork was created. Returns that fork with this fork's
    /// order.
    func publish(to base: ForkedOrder) -> ForkedOrder {
        fork.publish(to: base.fork)
        return ForkedOrder(order, in: base.fork)
    }

    /// Returns this fork over another store, which must have the nodes of the base.
    func rebased(over nodes: any NodeStore) -> ForkedOrder { ForkedOrder(order, in: fork.rebased(over: nodes)) }
}
