/// The number of a tree's nodes and how full its leaves are, found without reading every leaf.
package struct TreeShape: Sendable, Equatable {
    /// The number of nodes on each level, leaves first.
    package var nodes: [Int] = []
    /// The total bytes of the leaves that were read, and the number of these leaves.
    package var leafBytes = 0
    package var leavesRead = 0

    /// The mean fill of the leaves that were read, as a fraction of the capacity; nil for a tree without nodes.
    package func leafFill(capacity: Int) -> Double? {
        leavesRead == 0 ? nil : Double(leafBytes) / Double(leavesRead * capacity)
    }
}

extension CountedTree {
    /// Reads all branches and about this many leaves, evenly spread: O(n / m^2 + leaves) nodes, if nodes have m
    /// entries.
    package func shape(leaves: Int) throws -> TreeShape {
        var shape = TreeShape()
        guard root.node != 0 else { return shape }
        shape.nodes = [Int](repeating: 0, count: root.level + 1)
        shape.nodes[root.level] = 1
        if root.level == 0 {
            try read(root.node, level: 0) { view in (shape.leafBytes, shape.leavesRead) = (view.bytes.byteCount, 1) }
            return shape
        }
        // Reads the branches level by level; of the leaves, it collects only the numbers.
        var nodes = [root.node]
        for level in (1...root.level).reversed() {
            var children: [NodeNumber] = []
            for node in nodes {
                try read(node, level: level) { view in
                    for slot in 0..<view.slotCount { children.append(view.child(of: try view.cell(at: slot))) }
                }
                // Damage may lead to one node many times.
                guard children.count <= count else {
                    throw TreeError.corrupted(node: node, "it leads to more nodes than the tree has entries")
                }
            }
            shape.nodes[level - 1] = children.count
            nodes = children
        }
        let step = max(1, nodes.count / max(1, leaves))
        for index in stride(from: 0, to: nodes.count, by: step) {
            try read(nodes[index], level: 0) { shape.leafBytes += $0.bytes.byteCount }
            shape.leavesRead += 1
        }
        return shape
    }
}
