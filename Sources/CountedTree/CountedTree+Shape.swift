/// The number of nodes on each level of a tree, and how full a sample of its leaves is.
package struct TreeShape: Sendable, Equatable {
    /// The number of nodes on each level, beginning with the leaves.
    package var nodes: [Int] = []
    /// The total length in bytes of the leaves that were read.
    package var leafBytes = 0
    /// The number of leaves that were read.
    package var leavesRead = 0

    /// The mean length of the leaves that were read, as a fraction of the capacity; nil for a tree without nodes.
    package func leafFill(capacity: Int) -> Double? {
        leavesRead == 0 ? nil : Double(leafBytes) / Double(leavesRead * capacity)
    }
}

extension CountedTree {
    /// Determines the tree's shape. Reads all branches, and at least `leaves` evenly spread leaves (or all), but fewer
    /// than twice as many. `leaves` must be positive. For nodes of m entries, O(n / m^2 + leaves) nodes are read.
    package func shape(leaves: Int) throws -> TreeShape {
        var shape = TreeShape()
        guard root.node != 0 else { return shape }
        shape.nodes = [Int](repeating: 0, count: root.level + 1)
        shape.nodes[root.level] = 1
        if root.level == 0 {
            try read(root.node, level: 0) { view in (shape.leafBytes, shape.leavesRead) = (view.bytes.byteCount, 1) }
            return shape
        }
        // Reads the branches level by level, and collects the numbers of the leaves.
        var nodes = [root.node]
        for level in (1...root.level).reversed() {
            var children: [NodeNumber] = []
            for node in nodes {
                try read(node, level: level) { view in
                    for slot in 0..<view.slotCount { children.append(view.child(of: try view.cell(at: slot))) }
                }
                // Damaged branches may lead to one node many times, so that the array would grow exponentially.
                guard children.count <= count else {
                    throw TreeError.corrupted(node: node, "its level leads to more nodes than the tree has entries")
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
