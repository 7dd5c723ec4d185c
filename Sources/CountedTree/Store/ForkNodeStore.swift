/// A node store over another that it never touches: what is written or freed here stays in memory.
///
/// Unsaved edits, a read-only store and the working state of an update are forks; dropping the fork drops them.
package final class ForkNodeStore: NodeStore {
    private enum Change {
        case written([UInt8])
        case freed
    }

    private let base: any NodeStore
    private var changes: [NodeNumber: Change] = [:]
    package private(set) var nextNode: NodeNumber
    /// Of forks that number new nodes in turn: the number that is this one's next.
    private var turn: (next: NodeNumber, step: NodeNumber)?

    /// The base must stay as it is while the fork lives.
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
        let node = turn?.next ?? nextNode
        if let turn { self.turn = (node + turn.step, turn.step) }
        nextNode = node + 1
        return node
    }

    package func free(_ node: NodeNumber) { changes[node] = .freed }

    package func others() -> [any NodeStore] { base.others().map(rebased) }

    /// Forks of this store, one for each thread that may read its nodes at the same time. They are to change different nodes, and
    /// are published here when all threads have ended.
    func forksForThreads() -> [ForkNodeStore] {
        let stores = [self] + others()
        return stores.enumerated().map { number, store in
            let fork = ForkNodeStore(over: store)
            fork.turn = (nextNode + NodeNumber(number), NodeNumber(stores.count))
            return fork
        }
    }

    package func prefetch(_ nodes: [NodeNumber]) {
        base.prefetch(changes.isEmpty ? nodes : nodes.filter { changes.index(forKey: $0) == nil })
    }

    /// The same changes over another base, which has just the nodes that this one's has.
    package func rebased(over base: any NodeStore) -> ForkNodeStore {
        let fork = ForkNodeStore(over: base)
        fork.changes = changes
        fork.nextNode = max(nextNode, fork.nextNode)
        return fork
    }

    /// The same into the fork that this one is made over, which cannot fail. O(k).
    package func publish(to fork: ForkNodeStore) {
        for (node, change) in changes {
            if case .freed = change, node >= fork.nextNode { continue }
            fork.changes[node] = change
        }
        fork.nextNode = max(fork.nextNode, nextNode)
    }

    /// Writes all that the fork holds into its base, or into a store that continues its base, in the order of node
    /// numbers. O(k log k) for k nodes. Stores in memory throw nothing.
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
