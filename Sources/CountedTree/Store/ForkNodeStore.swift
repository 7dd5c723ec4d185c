/// A node store over another one: what is written or freed here stays in memory until the fork is published.
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
    /// The number of the next new node, and the step to the one after it; nil if new nodes are numbered without gaps.
    private var numbering: (next: NodeNumber, step: NodeNumber)?
    /// The base's nodes for another thread, cached when first asked for.
    private var otherBase: (any NodeStore)?

    /// The base must stay as it is until the fork is published or dropped.
    package init(over base: any NodeStore) {
        self.base = base
        self.nextNode = base.nextNode
    }

    /// One of `count` forks over the same nodes, which are all published to one store: no two of them give a new node
    /// the same number.
    init(over base: any NodeStore, number: Int, of count: Int) {
        self.base = base
        nextNode = base.nextNode
        numbering = (nextNode + NodeNumber(number), NodeNumber(count))
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
        let node = numbering?.next ?? nextNode
        if let numbering { self.numbering = (node + numbering.step, numbering.step) }
        nextNode = node + 1
        return node
    }

    package func free(_ node: NodeNumber) { changes[node] = .freed }

    package func another() -> (any NodeStore)? {
        if otherBase == nil { otherBase = base.another() }
        return otherBase.map(rebased)
    }

    package func prefetch(_ nodes: [NodeNumber]) {
        base.prefetch(changes.isEmpty ? nodes : nodes.filter { changes.index(forKey: $0) == nil })
    }

    /// A fork with the same changes over another base, which must have the same nodes as this one's.
    package func rebased(over base: any NodeStore) -> ForkNodeStore {
        let fork = ForkNodeStore(over: base)
        fork.changes = changes
        fork.nextNode = max(nextNode, fork.nextNode)
        return fork
    }

    /// Publishes the changes to a fork that has the nodes of this one's base; can't fail. O(k) for k nodes.
    package func publish(to fork: ForkNodeStore) {
        for (node, change) in changes {
            if case .freed = change, node >= fork.nextNode { continue }
            fork.changes[node] = change
        }
        fork.nextNode = max(fork.nextNode, nextNode)
    }

    /// Writes all changes into the base, or into a store that continues it, in the order of node numbers. O(k log k)
    /// for k nodes. Stores in memory throw nothing.
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
