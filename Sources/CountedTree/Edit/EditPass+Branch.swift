internal import FetchIndexPlatform
extension EditPass {
    /// A child of a branch, the edits below it, and their outcome.
    struct EditedChild {
        let slot: Int
        let node: NodeNumber
        let measure: Measure
        let edits: Range<Int>
        /// The number of the tree's entries before the child.
        let before: Int
        var outcome = Outcome.unchanged
    }

    mutating func editBranch(
        _ some: Range<Int>, _ node: NodeNumber, level: Int, _ before: Int, _ measure: Measure
    ) throws -> Outcome {
        var children = try children(of: node, level: level, reachedBy: some, before)
        try edit(&children, level: level)
        var measure = measure
        var isChanged = false
        var keepsChildren = true
        var sparse: [NodeNumber] = []
        for child in children {
            switch child.outcome {
            case .unchanged: continue
            case .changed(let now, let isUnderfull):
                measure += now
                if isUnderfull { sparse.append(child.node) }
            case .emptied: keepsChildren = false
            case .split(let pieces):
                for piece in pieces { measure += piece.measure }
                keepsChildren = false
            }
            measure -= child.measure
            isChanged = true
        }
        if !isChanged { return .unchanged }
        let outcome =
            try (keepsChildren ? patch(node, level: level, children, measure) : nil)
            ?? rewrite(node, level: level, children, measure)
        return sparse.isEmpty ? outcome : try merge(sparse, below: node, level: level, outcome)
    }

    /// Applies the edits below these children.
    mutating func edit(_ children: inout [EditedChild], level: Int) throws {
        if children.count > 1 { store.prefetch(children.map(\.node)) }
        for index in children.indices {
            let child = children[index]
            children[index].outcome = try edit(
                child.edits, of: child.node, level: level - 1, child.before, child.measure)
        }
    }

    /// Finds the children that the edits concern, in the order of their slots.
    private func children(
        of node: NodeNumber, level: Int, reachedBy some: Range<Int>, _ before: Int
    ) throws -> [EditedChild] {
        var children: [EditedChild] = []
        let (tree, edits) = (tree, edits)
        try tree.read(node, level: level) { view in
            children.reserveCapacity(min(some.count, view.slotCount))
            var sum = before
            var counted = 0
            var index = some.lowerBound
            while index < some.upperBound {
                let firstKey = edits[index].key
                let slot = try tree.lastSlot(upTo: firstKey.span.bytes, in: view).slot
                let first = index
                index += 1
                if slot + 1 == view.slotCount {
                    index = some.upperBound
                } else if index < some.upperBound {
                    try tree.withWholeKey(at: slot + 1, of: view) { separator in
                        while index < some.upperBound {
                            let key = edits[index].key
                            if key.span.bytes.compare(separator) >= 0 { break }
                            index += 1
                        }
                    }
                }
                // If damaged separators don't ascend, a search may lead back to an earlier slot.
                guard slot >= counted else { throw view.outOfOrder }
                sum += try view.measure(of: counted..<slot).count
                counted = slot
                let cell = try view.cell(at: slot)
                children.append(
                    EditedChild(
                        slot: slot, node: view.child(of: cell), measure: try view.measure(of: cell),
                        edits: first..<index, before: sum))
            }
        }
        return children
    }

    /// Writes the branch with new measures and summaries of its children, and the same keys. Returns nil, without
    /// writing, if a summary has another length than before.
    private func patch(
        _ node: NodeNumber, level: Int, _ children: [EditedChild], _ measure: Measure
    ) throws -> Outcome? {
        var bytes: [UInt8] = []
        var fits = true
        try read(node, level: level) { view in
            bytes.reserveCapacity(view.bytes.byteCount + 8)
            bytes.appendBytes(view.bytes)
            for child in children where fits {
                guard case .changed(let now, _) = child.outcome else { continue }
                let cell = try view.cell(at: child.slot)
                let offset = cell.range.lowerBound + 8
                bytes.replaceNumber(UInt64(truncatingIfNeeded: now.count), at: offset)
                if form.isWeighted { bytes.replaceNumber(UInt64(truncatingIfNeeded: now.weight), at: offset + 8) }
                if !form.hasSummaries { continue }
                let summary = try summary(of: child, level: level - 1, view.summary(of: cell))
                fits = summary.count == view.summary(of: cell).byteCount
                if fits { bytes.replaceSubrange(view.summaryRange(of: cell), with: summary) }
            }
        }
        if !fits { return nil }
        let isUnderfull = bytes.count < store.capacity / 4
        try store.write(node, bytes)
        return .changed(measure, isUnderfull: isUnderfull)
    }

    /// Rewrites a branch of which a child was emptied or split, or in which a summary has another length than before.
    private func rewrite(
        _ node: NodeNumber, level: Int, _ children: [EditedChild], _ measure: Measure
    ) throws -> Outcome {
        var branch = BranchBuilder(writer: NodeWriter(level: level, form), tree: tree, level: level)
        var isAppended = children.contains { if case .split = $0.outcome { true } else { false } }
        try read(node, level: level) { view in
            var next = 0
            for child in children {
                try branch.append(next..<child.slot, of: view)
                next = child.slot + 1
                switch child.outcome {
                case .unchanged: try branch.append(child.slot..<next, of: view)
                case .changed(let now, _):
                    let old = view.summary(of: try view.cell(at: child.slot))
                    let summary = try summary(of: child, level: level - 1, old)
                    try branch.append(child.node, now, summary.span.bytes, at: child.slot, of: view)
                case .emptied: try branch.drop(child.slot, of: view)
                case .split(let pieces):
                    isAppended = isAppended && next == view.slotCount
                    let summary = try tree.summary(of: pieces[0].node, level: level - 1)
                    try branch.append(
                        pieces[0].node, pieces[0].measure, summary.span.bytes, at: child.slot, of: view)
                    for piece in pieces.dropFirst() {
                        try branch.append(piece)
                    }
                }
            }
            try branch.append(next..<view.slotCount, of: view)
        }
        for node in branch.freed { try store.free(node) }
        return try finish(branch.writer, of: node, level: level, measure, fillsNodes: isAppended)
    }
}

/// Assembles the cells of a changed branch. The first child always has an empty separator.
private struct BranchBuilder {
    var writer: NodeWriter
    let tree: CountedTree
    let level: Int
    /// The overflow nodes of long separators that the new branch doesn't contain.
    var freed: [NodeNumber] = []

    /// Adds a child with the separator of an old slot.
    mutating func append(
        _ child: NodeNumber, _ measure: Measure, _ summary: RawSpan, at slot: Int, of view: NodeView
    ) throws {
        let isFirst = writer.slotCount == 0
        if isFirst { try drop(slot, of: view) }
        writer.appendBranchCell(child: child, measure, summary, isFirst ? .empty : try view.storedKey(at: slot))
    }

    /// Adds a child that was split off another one.
    mutating func append(_ piece: EditPass.Piece) throws {
        let summary = try tree.summary(of: piece.node, level: level - 1)
        writer.appendBranchCell(child: piece.node, piece.measure, summary.span.bytes, piece.separator)
    }

    /// Adds the children of old slots unchanged.
    mutating func append(_ slots: Range<Int>, of view: NodeView) throws {
        var slots = slots
        if writer.slotCount == 0, let first = slots.first {
            let cell = try view.cell(at: first)
            try append(view.child(of: cell), try view.measure(of: cell), view.summary(of: cell), at: first, of: view)
            slots = slots.dropFirst()
        }
        try writer.append(slots, of: view)
    }

    /// Leaves out a slot's separator, and adds its overflow nodes to `freed`.
    mutating func drop(_ slot: Int, of view: NodeView) throws {
        freed += try tree.store.overflowNodes(of: view.cell(at: slot), in: view)
    }
}
