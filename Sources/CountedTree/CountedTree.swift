/// A B+tree of byte keys with order statistics: it finds the number and the total weight of the entries before any key.
///
/// The structure is Knuth's counted B+tree (The Art of Computer Programming, volume 3, 6.2.3-6.2.4). A branch stores
/// the number of entries below each child, so that rank and select are descents of O(log n), and positions aren't
/// stored. If an edit throws, only some of its changes may have been written: drop the fork or the transaction that
/// contains them.
package struct CountedTree {
    package let store: any NodeStore
    package internal(set) var root: TreeRoot
    /// Adds up the summaries of entries; nil in a tree without summaries.
    package let summarizer: (any Summarizer)?
    let form: CellForm

    package init(in store: any NodeStore, root: TreeRoot, summarizer: (any Summarizer)? = nil) {
        self.store = store
        self.root = root
        self.summarizer = summarizer
        form = CellForm(isWeighted: root.isWeighted, maximumSummary: summarizer?.maximumLength)
    }

    /// Creates an empty tree. In a weighted tree each entry has its own weight; otherwise every weight is 1.
    package init(in store: any NodeStore, isWeighted: Bool = false, summarizer: (any Summarizer)? = nil) {
        self.init(in: store, root: TreeRoot(isWeighted: isWeighted), summarizer: summarizer)
    }

    package var count: Int { root.measure.count }
    package var weight: Int { root.measure.weight }

    /// Returns this tree in another store that contains its nodes, such as a fork over its store, or the store to
    /// which its fork was published.
    package func reopened(in store: any NodeStore) -> CountedTree {
        CountedTree(in: store, root: root, summarizer: summarizer)
    }

    /// Reads a node of this tree.
    func read(_ node: NodeNumber, level: Int, _ body: (NodeView) throws -> Void) throws {
        try store.read(node) { bytes in
            try body(try NodeView(bytes, node: node, level: level, form))
        }
    }
}

/// The values that describe a tree in addition to its nodes. The tree's owner stores them.
package struct TreeRoot: Equatable, Sendable {
    /// The root node's number; 0 if the tree is empty.
    package var node: NodeNumber
    package var level: Int
    package var measure: Measure
    package var isWeighted: Bool

    package init(node: NodeNumber = 0, level: Int = 0, measure: Measure = .zero, isWeighted: Bool) {
        self.node = node
        self.level = min(max(level, 0), NodeLayout.maximumLevel)
        self.measure = measure
        self.isWeighted = isWeighted
    }

}
