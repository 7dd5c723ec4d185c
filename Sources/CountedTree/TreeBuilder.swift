internal import Bytes
/// Builds a tree with full nodes from sorted entries. O(n), with memory for one node per level.
package struct TreeBuilder {
    /// A level's unfinished node: its cells, their measure, and the key that separates it from its left neighbour.
    private struct OpenNode {
        var writer: NodeWriter
        var measure = Measure.zero
        var separator = StoredKey.empty
    }

    private let store: any NodeStore
    private let isWeighted: Bool
    private var levels: [OpenNode]
    private var lastKey: [UInt8] = []
    private var measure = Measure.zero

    package init(in store: any NodeStore, isWeighted: Bool = false) {
        self.store = store
        self.isWeighted = isWeighted
        self.levels = [OpenNode(writer: NodeWriter(level: 0, isWeighted: isWeighted))]
    }

    package var count: Int { measure.count }

    /// Adds an entry. Throws `corrupted` unless its key is greater than the last one's: records that are damaged may give
    /// two of the same key.
    package mutating func append(_ key: RawSpan, weight: Int = 1) throws {
        guard count == 0 || key.compare(lastKey.span.bytes) > 0 else {
            throw TreeError.corrupted(node: 0, "its keys do not ascend")
        }
        let stored = try store.storedForm(of: key)
        if levels[0].writer.byteCount(adding: stored) > store.capacity {
            let length = key.commonPrefixLength(lastKey.span.bytes) + 1
            try close(level: 0, separator: try store.storedForm(of: key.extracting(first: length)))
        }
        levels[0].writer.appendLeafCell(stored, weight: weight)
        let added = Measure(count: 1, weight: weight)
        levels[0].measure += added
        measure += added
        lastKey.removeAll(keepingCapacity: true)
        lastKey.appendBytes(key)
    }

    /// Writes what is still open and returns the tree.
    package mutating func finish() throws -> CountedTree {
        guard measure.count > 0 else { return CountedTree(in: store, isWeighted: isWeighted) }
        var level = 0
        while level < levels.count - 1 {
            try close(level: level, separator: .empty)
            level += 1
        }
        let node = try store.allocate()
        try store.write(node, levels[level].writer.node())
        let root = TreeRoot(node: node, level: level, measure: measure, isWeighted: isWeighted)
        return CountedTree(in: store, root: root)
    }

    /// Writes a level's node, hands it to the level above, and begins the next one with its separator.
    private mutating func close(level: Int, separator: StoredKey) throws {
        let node = try store.allocate()
        try store.write(node, levels[level].writer.node())
        if level + 1 == levels.count {
            levels.append(OpenNode(writer: NodeWriter(level: level + 1, isWeighted: isWeighted)))
        }
        let closed = levels[level].separator
        if levels[level + 1].writer.byteCount(adding: closed) > store.capacity {
            try close(level: level + 1, separator: closed)
        }
        let isFirst = levels[level + 1].writer.slotCount == 0
        levels[level + 1].writer.appendBranchCell(child: node, levels[level].measure, isFirst ? .empty : closed)
        levels[level + 1].measure += levels[level].measure
        levels[level].writer.removeAll()
        levels[level].measure = .zero
        levels[level].separator = separator
    }
}
