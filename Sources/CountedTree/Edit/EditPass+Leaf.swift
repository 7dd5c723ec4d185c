internal import Bytes
extension EditPass {
    /// An edit that changes a leaf, the slot it stands at there, and how the cell's key is stored.
    private struct LeafEdit {
        let edit: Int
        let slot: Int
        var key = StoredKey.empty
    }

    mutating func editLeaf(
        _ some: Range<Int>, _ node: NodeNumber, _ before: Int, _ measure: Measure
    ) throws -> Outcome {
        var leafEdits: [LeafEdit] = []
        var slotCount = 0
        // Apart from `found`, which a copy of self would have copied too.
        let (tree, edits) = (tree, edits)
        try tree.read(node, level: 0) { view in
            slotCount = view.slotCount
            var slot = 0
            for index in some {
                let key = edits[index].key
                let (last, isPresent) = try tree.lastSlot(upTo: key.span.bytes, in: view)
                let next = isPresent ? last : last + 1
                guard next >= slot else { throw view.outOfOrder }
                slot = next
                noteFound(index, rank: before + slot, isPresent: isPresent)
                switch edits[index].change {
                case .insert where !isPresent: leafEdits.append(LeafEdit(edit: index, slot: slot))
                case .remove where isPresent:
                    leafEdits.append(LeafEdit(edit: index, slot: slot))
                    if form.hasSummaries { noteSummary(index, view.summary(of: try view.cell(at: slot))) }
                case .update(let weight) where isPresent:
                    let cell = try view.cell(at: slot)
                    let summary = edits[index].summary
                    let isSame = view.summary(of: cell).isEqual(to: summary.span.bytes)
                    if form.hasSummaries { noteSummary(index, view.summary(of: cell)) }
                    if try !isSame || view.measure(of: cell).weight != weight {
                        leafEdits.append(LeafEdit(edit: index, slot: slot))
                    }
                case .insert, .remove, .update, .find: break
                }
            }
            guard before + slot <= tree.count else {
                throw TreeError.corrupted(node: node, "its counts exceed the tree's")
            }
        }
        if leafEdits.isEmpty { return .unchanged }
        // The rests of long keys are written before the leaf is read again.
        for index in leafEdits.indices {
            guard case .insert = edits[leafEdits[index].edit].change else { continue }
            let key = edits[leafEdits[index].edit].key
            leafEdits[index].key = try store.storedForm(of: key.span.bytes, form)
        }
        return try change(node, leafEdits, slotCount, measure)
    }

    private func change(
        _ node: NodeNumber, _ leafEdits: [LeafEdit], _ slotCount: Int, _ measure: Measure
    ) throws -> Outcome {
        var measure = measure
        // Ascending keys leave filled nodes.
        let isAppended = leafEdits.allSatisfy {
            if case .insert = edits[$0.edit].change { $0.slot == slotCount } else { false }
        }
        var freed: [NodeNumber] = []
        var bytes: [UInt8]?
        var writer = NodeWriter(level: 0, form)
        try read(node, level: 0) { view in
            var changes: [CellChange] = []
            changes.reserveCapacity(leafEdits.count)
            for leafEdit in leafEdits {
                let slot = leafEdit.slot
                let summary = edits[leafEdit.edit].summary
                switch edits[leafEdit.edit].change {
                case .insert(let weight):
                    changes.append(
                        CellChange(slot: slot, drops: false, key: leafEdit.key, weight: weight, summary: summary))
                    measure += Measure(count: 1, weight: weight)
                case .remove:
                    let cell = try view.cell(at: slot)
                    changes.append(CellChange(slot: slot, drops: true, key: nil))
                    measure -= try view.measure(of: cell)
                    if cell.hasLongKey { freed += try store.overflowNodes(of: cell, in: view) }
                case .update(let weight):
                    let key = try view.storedKey(at: slot)
                    changes.append(
                        CellChange(slot: slot, drops: true, key: key, weight: weight, summary: summary))
                    measure.weight += weight - (try view.measure(of: view.cell(at: slot)).weight)
                case .find: break
                }
            }
            bytes = try view.replacing(changes, capacity: store.capacity, in: buffer)
            if bytes == nil { try writer.append(view, changes) }
        }
        for node in freed { try store.free(node) }
        guard let bytes else { return try finish(writer, of: node, level: 0, measure, fillsNodes: isAppended) }
        let isUnderfull = bytes.count < store.capacity / 4
        try store.write(node, bytes)
        return .changed(measure, isUnderfull: isUnderfull)
    }
}
