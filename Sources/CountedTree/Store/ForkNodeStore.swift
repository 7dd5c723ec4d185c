/// A node store over a base store, which stays unchanged until the fork is published. The fork's changes are in memory.
///
/// Forks hold unsaved edits, changes over a read-only store, and the working state of an update. Dropping the fork
/// drops its changes.
package final class ForkNodeStore: NodeStore {
    private enum Change {
        case written([UInt8])
        case freed
    }

    private let base: any NodeStore
    private var changes: [NodeNumber: Change] = [:]
    package private(set) var nextNode: NodeNumber

    /// Creates a fork without changes. The base must not change until the fork is published or dropped.
    package init(over base: any NodeStore) {
        self.base = base
        self.nextNode = base.nextNode
    }

    package var capacity: Int { base.capacity }

    package func read(_ node: NodeNumber, _ body: (RawSpan) throws -> Void) throws {
        switch changes[node] {
        case .written(let bytes): try body(bytes.span.bytes)
        case .freed: throw TreeError.corrupted(node: node, "it is read after it was freed")
        case nil: try base.read(node, body)
        }
    }

    package func write(_ node: NodeNumber, _ bytes: consuming [UInt8]) {
        changes[node] = .written(bytes)
        nextNode = max(nextNode, node + 1)
    }

    package func allocate() -> NodeNumber {
        defer { nextNode += 1 }
        return nextNode
    }

    package func free(_ node: NodeNumber) { changes[node] = .freed }

    package func prefetch(_ nodes: [NodeNumber]) {
        base.prefetch(changes.isEmpty ? nodes : nodes.filter { changes.index(forKey: $0) == nil })
    }

    /// Returns a fork with the same changes over another base, which must have the same nodes as this fork's base.
    package func rebased(over base: any NodeStore) -> ForkNodeStore {
        let fork = ForkNodeStore(over: base)
        fork.changes = changes
        fork.nextNode = max(nextNode, fork.nextNode)
        return fork
    }

    /// Publishes the changes to another fork, which must have the nodes of this fork's base. O(k) for k changed nodes.
    package func publish(to fork: ForkNodeStore) {
        for (node, change) in changes {
            if case .freed = change, node >= fork.nextNode { continue }
            fork.changes[node] = change
        }
        fork.nextNode = max(fork.nextNode, nextNode)
    }

    /// Writes the changes to the base, or to another store with the base's nodes, in the order of the nodes' numbers.
    /// O(k log k) for k changed nodes, in addition to the store's writes. Doesn't throw if the store is in memory.
    package func publish(to store: any NodeStore) throws {
        var nodes: [(node: NodeNumber, bytes: [UInt8]?)] = []
        nodes.reserveCapacity(changes.count)
        for (node, change) in changes {
            switch change {
            case .written(let bytes): nodes.append((node, bytes))
            case .freed: if node < base.nextNode { nodes.append((node, nil)) }
            }
        }
        nodes.sort { $0.node < $1.node }
        try store.write(nodes)
    }
}
