internal import FetchIndexPlatform
extension EditPass {
    /// The outcome of the edits in a leaf.
    private struct EditedLeaf {
        var measure: Measure
        var changes: [CellChange] = []
        /// The indices of the changes that insert long keys, and of their edits. The key of such a change is set once
        /// the rest of the key is in overflow nodes.
        var longKeys: [(change: Int, edit: Int)] = []
        /// The overflow nodes of removed long keys.
        var freed: [NodeNumber] = []
        /// Whether the changes only add keys after the leaf's last one. If so, a split fills one node after the other.
        var isAppended = true
        var contents = NewContents.unchanged

        mutating func insert(_ edit: TreeEdit, _ index: Int, weight: Int, before slot: Int, isLong: Bool) {
            if isLong { longKeys.append((changes.count, index)) }
            let key = isLong ? .empty : StoredKey(bytes: edit.key, isLong: false)
            changes.append(CellChange(slot: slot, drops: false, key: key, weight: weight, summary: edit.summary))
            measure += Measure(count: 1, weight: weight)
        }
    }

    private enum NewContents {
        case unchanged
        /// The leaf's new bytes.
        case node([UInt8])
        /// The leaf's new cells: more than fit into one node, or none.
        case cells(NodeWriter)
    }

    mutating func editLeaf(
        _ some: Range<Int>, _ node: NodeNumber, _ before: Int, _ measure: Measure
    ) throws -> Outcome {
        var leaf = EditedLeaf(measure: measure)
        let tree = tree
        try tree.read(node, level: 0) { view in
            try find(some, in: view, before, &leaf)
            if leaf.longKeys.isEmpty { try rewrite(&leaf, from: view) }
        }
        if !leaf.longKeys.isEmpty {
            // The leaf is read again, because the body of a read must not write.
            for (change, edit) in leaf.longKeys {
                let key = edits[edit].key
                leaf.changes[change].key = try store.storedForm(of: key.span.bytes, form)
            }
            try tree.read(node, level: 0) { try rewrite(&leaf, from: $0) }
        }
        for node in leaf.freed { try store.free(node) }
        switch leaf.contents {
        case .unchanged: return .unchanged
        case .node(let bytes):
            let isUnderfull = bytes.count < store.capacity / 4
            try store.write(node, bytes)
            return .changed(leaf.measure, isUnderfull: isUnderfull)
        case .cells(let writer):
            return try finish(writer, of: node, level: 0, leaf.measure, fillsNodes: leaf.isAppended)
        }
    }

    /// Looks up the edits' keys in a leaf, and collects the changes of its cells.
    private mutating func find(
        _ some: Range<Int>, in view: NodeView, _ before: Int, _ leaf: inout EditedLeaf
    ) throws {
        let maximumInlineKey = NodeLayout.maximumInlineKey(capacity: store.capacity, form)
        var slot = 0
        for index in some {
            let edit = edits[index]
            let (last, isPresent) = try tree.lastSlot(upTo: edit.key.span.bytes, in: view)
            let next = isPresent ? last : last + 1
            guard next >= slot else { throw view.outOfOrder }
            slot = next
            noteFound(index, rank: before + slot, isPresent: isPresent)
            if !isPresent {
                guard case .insert(let weight) = edit.change else { continue }
                leaf.insert(edit, index, weight: weight, before: slot, isLong: edit.key.count > maximumInlineKey)
                if slot < view.slotCount { leaf.isAppended = false }
                continue
            }
            switch edit.change {
            case .insert, .find: continue
            case .remove:
                let cell = try view.cell(at: slot)
                if form.hasSummaries { noteSummary(index, view.summary(of: cell)) }
                leaf.changes.append(CellChange(slot: slot, drops: true, key: nil))
                leaf.measure -= try view.measure(of: cell)
                if cell.hasLongKey { leaf.freed += try store.overflowNodes(of: cell, in: view) }
            case .update(let weight):
                let cell = try view.cell(at: slot)
                if form.hasSummaries { noteSummary(index, view.summary(of: cell)) }
                let old = try view.measure(of: cell).weight
                if old == weight, view.summary(of: cell).isEqual(to: edit.summary.span.bytes) { continue }
                let key = try view.storedKey(at: slot)
                leaf.changes.append(
                    CellChange(slot: slot, drops: true, key: key, weight: weight, summary: edit.summary))
                leaf.measure.weight += weight - old
            }
            leaf.isAppended = false
        }
        guard before + slot <= tree.count else {
            throw TreeError.corrupted(node: view.node, "its counts exceed the tree's")
        }
    }

    private func rewrite(_ leaf: inout EditedLeaf, from view: NodeView) throws {
        if leaf.changes.isEmpty { return }
        if let bytes = try view.replacing(leaf.changes, capacity: store.capacity, in: buffer) {
            leaf.contents = .node(bytes)
        } else {
            var writer = NodeWriter(level: 0, form)
            try writer.append(view, leaf.changes)
            leaf.contents = .cells(writer)
        }
    }
}
