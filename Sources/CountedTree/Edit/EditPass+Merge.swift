extension EditPass {
    /// Tries to merge each underfull child, given in `sparse`, with a neighbour. `outcome` is that of the parent before
    /// the merges; returns the parent's outcome after them.
    func merge(_ sparse: [NodeNumber], below node: NodeNumber, level: Int, _ outcome: Outcome) throws -> Outcome {
        switch outcome {
        case .unchanged, .emptied: return outcome
        case .split(let pieces):
            for piece in pieces { _ = try merge(sparse, in: piece.node, level: level) }
            return outcome
        case .changed(let measure, let isUnderfull):
            let byteCount = try merge(sparse, in: node, level: level)
            return .changed(measure, isUnderfull: byteCount.map { $0 < store.capacity / 4 } ?? isUnderfull)
        }
    }

    /// Merges children of one branch. Returns the new length of the branch in bytes; nil if no children were merged.
    private func merge(_ sparse: [NodeNumber], in node: NodeNumber, level: Int) throws -> Int? {
        var slots: [Int] = []
        var slotCount = 0
        let wanted = Set(sparse)
        try read(node, level: level) { view in
            slotCount = view.slotCount
            for slot in 0..<slotCount where wanted.contains(view.child(of: try view.cell(at: slot))) {
                slots.append(slot)
            }
        }
        var byteCount: Int?
        // Begins with the last slot, because a merge shifts the slots after it.
        for slot in slots.reversed() {
            var merged = slot + 1 < slotCount ? try mergeChildren(slot, of: node, level: level) : nil
            if merged == nil, slot > 0 { merged = try mergeChildren(slot - 1, of: node, level: level) }
            if let merged {
                byteCount = merged
                slotCount -= 1
            }
        }
        return byteCount
    }

    /// Merges the child at a slot with the next one, if they fit into one node and the parent doesn't become too long.
    /// Returns the parent's new length in bytes; nil if the children weren't merged.
    private func mergeChildren(_ slot: Int, of node: NodeNumber, level: Int) throws -> Int? {
        var children: (lower: NodeNumber, upper: NodeNumber) = (0, 0)
        var separator = StoredKey.empty
        try read(node, level: level) { view in
            children = (view.child(of: try view.cell(at: slot)), view.child(of: try view.cell(at: slot + 1)))
            separator = try view.storedKey(at: slot + 1)
        }
        let merged = try merge(children, separator, level: level - 1)
        guard merged.byteCount <= store.capacity else { return nil }
        let (parent, unused) = try parent(node, level: level, afterMerging: slot, into: children.lower)
        // The parent may have become longer: the merged summary may be longer than the two summaries, and keys get
        // other bases.
        guard parent.byteCount <= store.capacity else { return nil }
        try store.write(children.lower, merged.node())
        try store.free(children.upper)
        for node in unused { try store.free(node) }
        try store.write(node, parent.node())
        return parent.byteCount
    }

    private func merge(
        _ children: (lower: NodeNumber, upper: NodeNumber), _ separator: StoredKey, level: Int
    ) throws -> NodeWriter {
        var merged = NodeWriter(level: level, form)
        try read(children.lower, level: level) { try merged.append(0..<$0.slotCount, of: $0) }
        try read(children.upper, level: level) { view in
            // The separator of two branches becomes a key of the merged branch.
            if level > 0 {
                let first = try view.cell(at: 0)
                merged.appendBranchCell(
                    child: view.child(of: first), try view.measure(of: first), view.summary(of: first), separator)
            }
            try merged.append((level > 0 ? 1 : 0)..<view.slotCount, of: view)
        }
        return merged
    }

    /// The parent of two merged children, with one cell instead of two, and the overflow nodes that are no longer used.
    private func parent(
        _ node: NodeNumber, level: Int, afterMerging slot: Int, into child: NodeNumber
    ) throws -> (NodeWriter, unused: [NodeNumber]) {
        var unused: [NodeNumber] = []
        var parent = NodeWriter(level: level, form)
        try read(node, level: level) { view in
            let lower = try view.cell(at: slot)
            let upper = try view.cell(at: slot + 1)
            // The separator of two leaves is dropped.
            if level == 1 { unused = try store.overflowNodes(of: upper, in: view) }
            var measure = try view.measure(of: lower)
            measure += try view.measure(of: upper)
            let sum = tree.summarizer?.begin()
            try sum?.add(view.summary(of: lower))
            try sum?.add(view.summary(of: upper))
            let summary = sum?.take() ?? []
            try parent.append(0..<slot, of: view)
            parent.appendBranchCell(child: child, measure, summary.span.bytes, try view.storedKey(at: slot))
            try parent.append(slot + 2..<view.slotCount, of: view)
        }
        return (parent, unused)
    }
}
