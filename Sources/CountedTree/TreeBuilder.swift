internal import Bytes
/// Builds a tree with filled nodes from sorted entries. O(n), with memory for the whole keys of one node per level.
package struct TreeBuilder {
    /// A level's unfinished node: its cells, their measure, and the key that separates it from its left neighbour.
    private struct OpenNode {
        var writer: NodeWriter
        var measure = Measure.zero
        var separator = StoredKey.empty
        var summary: (any RunningSummary)?
    }

    private let store: any NodeStore
    private let summarizer: (any Summarizer)?
    private let form: CellForm
    private let capacity: Int
    private let maximumInlineKey: Int
    private var levels: [OpenNode]
    /// The last key, if it is a long one, of which a cell has only the first bytes; else empty.
    private var longKey: [UInt8] = []
    private var measure = Measure.zero

    package init(in store: any NodeStore, isWeighted: Bool = false, summarizer: (any Summarizer)? = nil) {
        self.store = store
        self.summarizer = summarizer
        form = CellForm(isWeighted: isWeighted, maximumSummary: summarizer?.maximumLength)
        capacity = store.capacity
        maximumInlineKey = NodeLayout.maximumInlineKey(capacity: capacity, form)
        levels = [OpenNode(writer: NodeWriter(level: 0, form), summary: summarizer?.begin())]
    }

    package var count: Int { measure.count }

    /// Adds an entry. Throws `corrupted` unless its key is greater than the last one's: records that are damaged may give
    /// two of the same key.
    package mutating func append(_ key: RawSpan, weight: Int = 1, summary: RawSpan = RawSpan()) throws {
        // Most keys are short: for these no array is made, and they are compared with the last cell.
        if key.byteCount <= maximumInlineKey && longKey.isEmpty {
            try append(key, isLong: false, of: key, weight, summary)
        } else {
            try appendLong(key, weight, summary)
        }
        try levels[0].summary?.add(summary)
        let added = Measure(count: 1, weight: weight)
        levels[0].measure += added
        measure += added
    }

    /// Adds an entry whose key is long, or comes behind a long one.
    private mutating func appendLong(_ key: RawSpan, _ weight: Int, _ summary: RawSpan) throws {
        let last = longKey.isEmpty ? levels[0].writer.copyOfLastKey() : longKey
        if count > 0 && key.compare(last.span.bytes) <= 0 { throw Self.notAscending }
        let stored = try store.storedForm(of: key, form)
        let shared = key.commonPrefixLength(last.span.bytes)
        try append(stored.bytes.span.bytes, isLong: stored.isLong, of: key, shared: shared, weight, summary)
        longKey = stored.isLong ? [UInt8](copying: key) : []
    }

    /// Adds the cell of a key as it is stored. `shared` is how many first bytes the key has in common with the last one, where one of
    /// the two is long.
    private mutating func append(
        _ stored: RawSpan, isLong: Bool, of key: RawSpan, shared: Int? = nil, _ weight: Int, _ summary: RawSpan
    ) throws {
        // A call that only asks whether the cell fits would copy the writer.
        switch levels[0].writer.fillLeaf(with: stored, isLong: isLong, weight: weight, summary, capacity: capacity) {
        case .added: return
        case .notAscending: throw Self.notAscending
        case .filled(let sharedInLeaf):
            let separator = key.extracting(first: (shared ?? sharedInLeaf) + 1)
            try close(level: 0, separator: try store.storedForm(of: separator, form))
        }
        let outcome = levels[0].writer.fillLeaf(
            with: stored, isLong: isLong, weight: weight, summary, capacity: capacity)
        // Sorted entries that were on disk may be damaged.
        guard case .added = outcome else {
            throw TreeError.corrupted(node: 0, "a key with its summary is too long for a node")
        }
    }

    private static var notAscending: TreeError { .corrupted(node: 0, "its keys do not ascend") }

    /// Writes what is still open and returns the tree.
    package mutating func finish() throws -> CountedTree {
        guard measure.count > 0 else {
            return CountedTree(in: store, isWeighted: form.isWeighted, summarizer: summarizer)
        }
        var level = 0
        while level < levels.count - 1 {
            try close(level: level, separator: .empty)
            level += 1
        }
        let node = try store.allocate()
        try store.write(node, levels[level].writer.node())
        let root = TreeRoot(node: node, level: level, measure: measure, isWeighted: form.isWeighted)
        return CountedTree(in: store, root: root, summarizer: summarizer)
    }

    /// Writes a level's node, hands it to the level above, and begins the next one with its separator.
    private mutating func close(level: Int, separator: StoredKey) throws {
        let node = try store.allocate()
        try store.write(node, levels[level].writer.node())
        if level + 1 == levels.count {
            levels.append(OpenNode(writer: NodeWriter(level: level + 1, form), summary: summarizer?.begin()))
        }
        let closed = levels[level].separator
        let summary = levels[level].summary?.take() ?? []
        let isFilled = levels[level + 1].writer.isFilled(
            before: closed, summaryLength: summary.count, capacity: capacity)
        if isFilled { try close(level: level + 1, separator: closed) }
        let isFirst = levels[level + 1].writer.slotCount == 0
        levels[level + 1].writer.appendBranchCell(
            child: node, levels[level].measure, summary.span.bytes, isFirst ? .empty : closed)
        try levels[level + 1].summary?.add(summary.span.bytes)
        levels[level + 1].measure += levels[level].measure
        levels[level].writer.removeAll()
        levels[level].measure = .zero
        levels[level].separator = separator
    }
}
