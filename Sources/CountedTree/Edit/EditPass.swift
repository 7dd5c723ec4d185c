internal import FetchIndexPlatform

/// Applies edits in one descent, which visits the nodes that the edits concern, and neighbours of underfull nodes.
struct EditPass {
    var tree: CountedTree
    let edits: [TreeEdit]
    /// For each edit, its key's rank in the tree before all edits, and whether that tree had the key.
    private(set) var found: [(rank: Int, isPresent: Bool)]
    /// For each edit, the old summary of the entry that it changes or removes; empty for other edits. The array is
    /// empty in a tree without summaries.
    private(set) var oldSummaries: [[UInt8]] = []
    let form: CellForm
    private let sum: (any RunningSummary)?
    /// Memory for rewriting leaves.
    let buffer = LeafBuffer()

    var store: any NodeStore { tree.store }

    /// The outcome of edits below a node.
    enum Outcome {
        case unchanged
        /// The node was rewritten, and has this measure. If it's underfull, it may fit into one node with a neighbour.
        case changed(Measure, isUnderfull: Bool)
        /// All entries of the node were removed, and the node was freed.
        case emptied
        /// The node's cells were divided among several nodes. The first of them is the old node.
        case split([Piece])
    }

    struct Piece {
        let node: NodeNumber
        let measure: Measure
        /// The key that separates this node from the one before it; empty for the first node of the split.
        let separator: StoredKey
    }

    init(tree: CountedTree, edits: [TreeEdit]) {
        self.tree = tree
        self.edits = edits
        form = tree.form
        sum = tree.summarizer?.begin()
        if sum != nil { oldSummaries = Array(edits.count, copiesOf: []) }
        found = Array(edits.count, copiesOf: (0, false))
        for edit in edits {
            guard case .insert(let weight) = edit.change else { continue }
            precondition(form.isWeighted || weight == 1, "In a tree without weights, an entry must have weight 1.")
        }
    }

    // MARK: Root

    mutating func editRoot() throws -> TreeRoot {
        var root = tree.root
        let outcome =
            root.node == 0
            ? try fillFirstLeaf(of: &root) : try edit(edits.indices, of: root.node, level: root.level, 0, root.measure)
        switch outcome {
        case .unchanged: return root
        case .emptied: return TreeRoot(isWeighted: form.isWeighted)
        case .changed(let measure, _): root.measure = measure
        case .split(let pieces): try raise(&root, over: pieces)
        }
        let limit = Int(Measure.limit)
        guard (0...limit).contains(root.measure.count), (0...limit).contains(root.measure.weight) else {
            throw TreeError.corrupted(node: root.node, "its counts are out of range")
        }
        try lower(&root)
        return root
    }

    private func fillFirstLeaf(of root: inout TreeRoot) throws -> Outcome {
        var writer = NodeWriter(level: 0, form)
        var measure = Measure.zero
        for edit in edits {
            guard case .insert(let weight) = edit.change else { continue }
            let key = try store.storedForm(of: edit.key.span.bytes, form)
            writer.appendLeafCell(key, weight: weight, edit.summary.span.bytes)
            measure += Measure(count: 1, weight: weight)
        }
        if writer.slotCount == 0 { return .unchanged }
        root.node = try store.allocate()
        root.level = 0
        return try finish(writer, of: root.node, level: 0, measure, fillsNodes: true)
    }

    /// Adds as many levels as needed above the nodes into which the root was split.
    private func raise(_ root: inout TreeRoot, over pieces: [Piece]) throws {
        var pieces = pieces
        while true {
            root.level += 1
            // Two cells fit into a node, so each level has fewer nodes than the level below it, unless damage made
            // separators or summaries too long.
            guard root.level <= NodeLayout.maximumLevel else {
                throw TreeError.corrupted(node: root.node, "its keys or summaries are too long")
            }
            root.node = try store.allocate()
            root.measure = .zero
            var writer = NodeWriter(level: root.level, form)
            for piece in pieces {
                let summary = try tree.summary(of: piece.node, level: root.level - 1)
                writer.appendBranchCell(child: piece.node, piece.measure, summary.span.bytes, piece.separator)
                root.measure += piece.measure
            }
            guard
                case .split(let upper) = try finish(
                    writer, of: root.node, level: root.level, root.measure, fillsNodes: true)
            else { return }
            pieces = upper
        }
    }

    /// Replaces a root that has only one child by that child.
    private func lower(_ root: inout TreeRoot) throws {
        while root.level > 0 {
            var only: NodeNumber = 0
            try read(root.node, level: root.level) { view in
                if view.slotCount == 1 { only = view.child(of: try view.cell(at: 0)) }
            }
            if only == 0 { return }
            try store.free(root.node)
            root.node = only
            root.level -= 1
        }
    }

    // MARK: Nodes

    func read(_ node: NodeNumber, level: Int, _ body: (NodeView) throws -> Void) throws {
        try tree.read(node, level: level, body)
    }

    /// Applies some edits below a node. `before` is the number of the tree's entries before the node, `measure` the
    /// node's own measure.
    mutating func edit(
        _ some: Range<Int>, of node: NodeNumber, level: Int, _ before: Int, _ measure: Measure
    ) throws -> Outcome {
        level == 0
            ? try editLeaf(some, node, before, measure) : try editBranch(some, node, level: level, before, measure)
    }

    mutating func noteSummary(_ edit: Int, _ summary: RawSpan) { oldSummaries[edit] = [UInt8](copying: summary) }

    /// The maximum number of edits for which a child's summary is derived from its old summary. For more edits, it's
    /// computed from all slots of the child.
    private static let fewEdits = 8

    /// The summary of a child after its edits; empty in a tree without summaries. `old` is its summary before the
    /// edits.
    func summary(of child: EditedChild, level: Int, _ old: RawSpan) throws -> [UInt8] {
        guard let sum else { return [] }
        if child.edits.count <= Self.fewEdits {
            var (coming, going): ([[UInt8]], [[UInt8]]) = ([], [])
            for edit in child.edits {
                if comes(edit) { coming.append(edits[edit].summary) }
                if goes(edit) { going.append(oldSummaries[edit]) }
            }
            if let new = try sum.change(old, coming: coming, going: going) { return new }
        }
        return try tree.summary(of: child.node, level: level)
    }

    /// Whether an edit adds an entry's new summary.
    private func comes(_ edit: Int) -> Bool {
        switch edits[edit].change {
        case .insert: !found[edit].isPresent
        case .update: found[edit].isPresent
        case .remove, .find: false
        }
    }

    /// Whether an edit removes an entry's old summary.
    private func goes(_ edit: Int) -> Bool {
        switch edits[edit].change {
        case .remove, .update: found[edit].isPresent
        case .insert, .find: false
        }
    }

    mutating func noteFound(_ edit: Int, rank: Int, isPresent: Bool) { found[edit] = (rank, isPresent) }
}
