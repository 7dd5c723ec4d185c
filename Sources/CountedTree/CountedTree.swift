/// A B+tree of byte keys with order statistics: the number and the total weight of the entries before each entry.
///
/// The structure is Knuth's counted B+tree (The Art of Computer Programming, volume 3, 6.2.3-6.2.4): a branch
/// stores the count of each child, so that rank and select are descents, O(log n), and nothing stores a position.
/// An operation that throws leaves the tree's nodes half changed: drop the fork or transaction they are in.
package struct CountedTree {
    package let store: any NodeStore
    package internal(set) var root: TreeRoot
    /// Sums up what entries carry; nil in a tree without summaries.
    package let summarizer: (any Summarizer)?
    let form: CellForm

    package init(in store: any NodeStore, root: TreeRoot, summarizer: (any Summarizer)? = nil) {
        self.store = store
        self.root = root
        self.summarizer = summarizer
        form = CellForm(isWeighted: root.isWeighted, maximumSummary: summarizer?.maximumLength)
    }

    /// An empty tree. In a weighted tree each entry carries a weight; otherwise every weight is 1.
    package init(in store: any NodeStore, isWeighted: Bool = false, summarizer: (any Summarizer)? = nil) {
        self.init(in: store, root: TreeRoot(isWeighted: isWeighted), summarizer: summarizer)
    }

    package var count: Int { root.measure.count }
    package var weight: Int { root.measure.weight }
    package var isEmpty: Bool { count == 0 }

    /// This tree in a store that continues its store: a fork, or the base after the fork was published.
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

/// What a tree needs besides its nodes; its owner stores it.
package struct TreeRoot: Equatable, Sendable {
    /// 0 if the tree is empty.
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
