/// A node store in memory, for orders that aren't stored, and for tests.
package final class MemoryNodeStore: NodeStore {
    package let capacity: Int
    private var nodes: [[UInt8]?] = [nil]

    package init(capacity: Int = 4072) { self.capacity = capacity }

    package var nextNode: NodeNumber { NodeNumber(nodes.count) }

    /// The number of nodes in use.
    package var nodeCount: Int { nodes.count { $0 != nil } }

    package func read(_ node: NodeNumber, _ body: (RawSpan) throws -> Void) throws {
        guard node < nodes.count, let bytes = nodes[Int(node)] else {
            throw TreeError.corrupted(node: node, "it is missing")
        }
        try body(bytes.span.bytes)
    }

    package func write(_ node: NodeNumber, _ bytes: consuming [UInt8]) {
        while node >= nodes.count { nodes.append(nil) }
        nodes[Int(node)] = bytes
    }

    package func allocate() -> NodeNumber {
        nodes.append([])
        return NodeNumber(nodes.count - 1)
    }

    package func free(_ node: NodeNumber) {
        if node < nodes.count { nodes[Int(node)] = nil }
    }
}
