internal import FetchIndexPlatform
/// Builds a tree from sorted entries, and fills one node after the other. O(n) time. Holds one unfinished node per
/// level in memory.
package struct TreeBuilder: ~Copyable {
    /// An unfinished node: its measure, its summary, and the key that separates it from its left neighbour.
    private struct OpenNode {
        var measure = Measure.zero
        var separator = StoredKey.empty
        var summary: (any RunningSummary)?
    }

    private let store: any NodeStore
    private let summarizer: (any Summarizer)?
    private let form: CellForm
    private let capacity: Int
    private let maximumInlineKey: Int
    private var leaf: LeafFiller
    private var openLeaf: OpenNode
    /// The unfinished branches, beginning with level 1.
    private var branches: [(writer: NodeWriter, node: OpenNode)] = []
    /// The last key if it's long, since its cell has only its first bytes; otherwise empty.
    private var longKey: [UInt8] = []
    private var measure = Measure.zero

    package init(in store: any NodeStore, isWeighted: Bool = false, summarizer: (any Summarizer)? = nil) {
        self.store = store
        self.summarizer = summarizer
        form = CellForm(isWeighted: isWeighted, maximumSummary: summarizer?.maximumLength)
        capacity = store.capacity
        maximumInlineKey = NodeLayout.maximumInlineKey(capacity: capacity, form)
        leaf = LeafFiller(form, capacity: capacity)
        openLeaf = OpenNode(summary: summarizer?.begin())
    }

    package var count: Int { measure.count }

    /// Adds an entry. Throws `TreeError.corrupted` if its key isn't greater than the last one (damaged records may
    /// contain a key twice), or if the entry is too long for a node.
    package mutating func append(_ key: RawSpan, weight: Int = 1, summary: RawSpan = RawSpan()) throws {
        // Most keys are short. The leaf compares a short key with its last key, without creating an array.
        if key.byteCount <= maximumInlineKey && longKey.isEmpty {
            try append(key, isLong: false, of: key, weight, summary)
        } else {
            try appendLong(key, weight, summary)
        }
        try openLeaf.summary?.add(summary)
        let added = Measure(count: 1, weight: weight)
        openLeaf.measure += added
        measure += added
    }

    /// Adds an entry whose key is long or follows a long one.
    private mutating func appendLong(_ key: RawSpan, _ weight: Int, _ summary: RawSpan) throws {
        let last = longKey.isEmpty ? leaf.copyOfLastKey() : longKey
        if count > 0 && key.compare(last.span.bytes) <= 0 { throw Self.notAscending }
        let stored = try store.storedForm(of: key, form)
        let shared = key.commonPrefixLength(last.span.bytes)
        try append(stored.bytes.span.bytes, isLong: stored.isLong, of: key, shared: shared, weight, summary)
        longKey = stored.isLong ? [UInt8](copying: key) : []
    }

    /// Adds the cell of a key, whose stored form is `stored`. `shared` is the length of the prefix that the key shares
    /// with the last one; it's given if one of the two is long.
    private mutating func append(
        _ stored: RawSpan, isLong: Bool, of key: RawSpan, shared: Int? = nil, _ weight: Int, _ summary: RawSpan
    ) throws {
        switch leaf.append(stored, isLong: isLong, weight: weight, summary) {
        case .added: return
        case .notAscending: throw Self.notAscending
        case .filled(let sharedInLeaf):
            let separator = key.extracting(first: (shared ?? sharedInLeaf) + 1)
            try closeLeaf(separator: try store.storedForm(of: separator, form))
        }
        let outcome = leaf.append(stored, isLong: isLong, weight: weight, summary)
        // A damaged summary may be too long.
        guard case .added = outcome else {
            throw TreeError.corrupted(node: 0, "a key with its summary is too long for a node")
        }
    }

    private static var notAscending: TreeError { .corrupted(node: 0, "its keys do not ascend") }

    /// Writes the unfinished nodes and returns the tree.
    package mutating func finish() throws -> CountedTree {
        guard measure.count > 0 else {
            return CountedTree(in: store, isWeighted: form.isWeighted, summarizer: summarizer)
        }
        let root: TreeRoot
        if branches.isEmpty {
            root = try self.root(leaf.node(), level: 0)
        } else {
            try closeLeaf(separator: .empty)
            var level = 1
            while level < branches.count {
                try closeBranch(level: level, separator: .empty)
                level += 1
            }
            root = try self.root(branches[level - 1].writer.node(), level: level)
        }
        return CountedTree(in: store, root: root, summarizer: summarizer)
    }

    private func root(_ bytes: [UInt8], level: Int) throws -> TreeRoot {
        TreeRoot(node: try write(bytes), level: level, measure: measure, isWeighted: form.isWeighted)
    }

    private func write(_ bytes: [UInt8]) throws -> NodeNumber {
        let node = try store.allocate()
        try store.write(node, bytes)
        return node
    }

    /// Writes the leaf and adds it to the level above. Begins the next leaf, which `separator` separates from this one.
    private mutating func closeLeaf(separator: StoredKey) throws {
        let node = try write(leaf.node())
        let closed = openLeaf
        leaf.removeAll()
        openLeaf = OpenNode(separator: separator, summary: closed.summary)
        try add(node, closed, toLevel: 1)
    }

    /// Writes a level's branch and adds it to the level above. Begins the next branch of the level, which `separator`
    /// separates from this one.
    private mutating func closeBranch(level: Int, separator: StoredKey) throws {
        let node = try write(branches[level - 1].writer.node())
        let closed = branches[level - 1].node
        branches[level - 1].writer.removeAll()
        branches[level - 1].node = OpenNode(separator: separator, summary: closed.summary)
        try add(node, closed, toLevel: level + 1)
    }

    /// Adds a finished node to the unfinished branch of a level.
    private mutating func add(_ node: NodeNumber, _ closed: OpenNode, toLevel level: Int) throws {
        if level > branches.count {
            let branch = OpenNode(summary: summarizer?.begin())
            branches.append((NodeWriter(level: level, form), branch))
        }
        let summary = closed.summary?.take() ?? []
        let isFilled = branches[level - 1].writer.isFilled(
            before: closed.separator, summaryLength: summary.count, capacity: capacity)
        if isFilled { try closeBranch(level: level, separator: closed.separator) }
        let isFirst = branches[level - 1].writer.slotCount == 0
        branches[level - 1].writer.appendBranchCell(
            child: node, closed.measure, summary.span.bytes, isFirst ? .empty : closed.separator)
        try branches[level - 1].node.summary?.add(summary.span.bytes)
        branches[level - 1].node.measure += closed.measure
    }
}
