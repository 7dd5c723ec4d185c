package enum RemoveOutcome: Equatable, Sendable {
    case removed(weight: Int)
    /// The key was not there; the tree is as it was.
    case absent
}

/// What removing below a branch did to its child.
private enum ChildRemove {
    case absent
    case removed(Measure)
    /// The child has so few bytes left that it may fit into a neighbour.
    case sparse(Measure)
    /// The child had no other entry; it is freed.
    case emptied(Measure)
}

extension CountedTree {
    /// Takes an entry out. O(log n). Neighbours are merged when one of them is less than a quarter full and both fit
    /// into one node.
    @discardableResult
    package mutating func remove(_ key: RawSpan) throws -> RemoveOutcome {
        guard root.node != 0 else { return .absent }
        switch try remove(key, from: root.node, level: root.level) {
        case .absent: return .absent
        case .emptied(let removed):
            root = TreeRoot(isWeighted: root.isWeighted)
            return .removed(weight: removed.weight)
        case .removed(let removed), .sparse(let removed):
            try changeMeasure { $0 -= removed }
            try lowerRoot()
            return .removed(weight: removed.weight)
        }
    }

    /// A root with one child gives way to it.
    private mutating func lowerRoot() throws {
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

    private func remove(_ key: RawSpan, from node: NodeNumber, level: Int) throws -> ChildRemove {
        level == 0 ? try removeFromLeaf(key, node) : try removeFromBranch(key, node, level: level)
    }

    private func removeFromLeaf(_ key: RawSpan, _ node: NodeNumber) throws -> ChildRemove {
        var slot: Int?
        var removed = Measure.zero
        try read(node, level: 0) { view in
            let found = try leafSlot(for: key, in: view)
            guard found < view.slotCount, try compare(key, with: view, found) == 0 else { return }
            removed = try view.measure(of: try view.cell(at: found))
            slot = found
        }
        guard let slot else { return .absent }
        return try removeCell(slot, of: node, level: 0, removed)
    }

    private func removeFromBranch(_ key: RawSpan, _ node: NodeNumber, level: Int) throws -> ChildRemove {
        var slot = 0
        var child: NodeNumber = 0
        try read(node, level: level) { view in
            slot = try childSlot(for: key, in: view)
            child = view.child(of: try view.cell(at: slot))
        }
        switch try remove(key, from: child, level: level - 1) {
        case .absent: return .absent
        case .removed(let removed):
            try adjust(slot, of: node, level: level) { $0 -= removed }
            return .removed(removed)
        case .sparse(let removed):
            try adjust(slot, of: node, level: level) { $0 -= removed }
            if try mergeChild(slot, of: node, level: level) { return try .sparse(node, removed, in: self) }
            return .removed(removed)
        case .emptied(let removed):
            return try removeCell(slot, of: node, level: level, removed)
        }
    }

    /// Rewrites a node without one cell, or frees it when that was the last.
    private func removeCell(_ slot: Int, of node: NodeNumber, level: Int, _ removed: Measure) throws -> ChildRemove {
        var writer = NodeWriter(level: level, isWeighted: root.isWeighted)
        var rest: [NodeNumber] = []
        try read(node, level: level) { view in
            rest = try store.restNodes(of: try view.cell(at: slot), in: view)
            try writer.append(0..<slot, of: view)
            if level > 0 && slot == 0 && view.slotCount > 1 {
                // The next child becomes the first, whose separator is empty.
                let cell = try view.cell(at: 1)
                rest += try store.restNodes(of: cell, in: view)
                writer.appendBranchCell(child: view.child(of: cell), try view.measure(of: cell), .empty)
                try writer.append(2..<view.slotCount, of: view)
            } else {
                try writer.append(slot + 1..<view.slotCount, of: view)
            }
        }
        for node in rest { try store.free(node) }
        if writer.slotCount == 0 {
            try store.free(node)
            return .emptied(removed)
        }
        try store.write(node, writer.node())
        return writer.byteCount < store.capacity / 4 ? .sparse(removed) : .removed(removed)
    }

    /// Merges a sparse child with a neighbour that it fits with. False when there is none.
    private func mergeChild(_ slot: Int, of node: NodeNumber, level: Int) throws -> Bool {
        var slotCount = 0
        try read(node, level: level) { slotCount = $0.slotCount }
        if slot + 1 < slotCount, try mergeChildren(slot, of: node, level: level) { return true }
        return try slot > 0 && mergeChildren(slot - 1, of: node, level: level)
    }

    /// Merges the children at a slot and the next, if they fit into one node.
    private func mergeChildren(_ slot: Int, of node: NodeNumber, level: Int) throws -> Bool {
        var children: (lower: NodeNumber, upper: NodeNumber) = (0, 0)
        var separator = StoredKey.empty
        var rest: [NodeNumber] = []
        var parent = NodeWriter(level: level, isWeighted: root.isWeighted)
        try read(node, level: level) { view in
            let lower = try view.cell(at: slot)
            let upper = try view.cell(at: slot + 1)
            children = (view.child(of: lower), view.child(of: upper))
            separator = try view.storedKey(at: slot + 1)
            // Above leaves the separator is no longer needed; above branches it moves down.
            if level == 1 { rest = try store.restNodes(of: upper, in: view) }
            var measure = try view.measure(of: lower)
            measure += try view.measure(of: upper)
            try parent.append(0..<slot, of: view)
            parent.appendBranchCell(child: children.lower, measure, try view.storedKey(at: slot))
            try parent.append(slot + 2..<view.slotCount, of: view)
        }
        var merged = NodeWriter(level: level - 1, isWeighted: root.isWeighted)
        try read(children.lower, level: level - 1) { try merged.append(0..<$0.slotCount, of: $0) }
        var fits = false
        try read(children.upper, level: level - 1) { view in
            let added = view.bytes.byteCount - NodeLayout.headerLength + (level > 1 ? separator.bytes.count : 0)
            fits = merged.byteCount + added <= store.capacity
            guard fits else { return }
            if level > 1 {
                let first = try view.cell(at: 0)
                merged.appendBranchCell(child: view.child(of: first), try view.measure(of: first), separator)
            }
            try merged.append((level > 1 ? 1 : 0)..<view.slotCount, of: view)
        }
        guard fits else { return false }
        try store.write(children.lower, merged.node())
        try store.free(children.upper)
        for node in rest { try store.free(node) }
        try store.write(node, parent.node())
        return true
    }
}

extension ChildRemove {
    /// Whether a node whose children were merged is itself sparse now.
    fileprivate static func sparse(
        _ node: NodeNumber, _ removed: Measure, in tree: CountedTree
    ) throws -> ChildRemove {
        var isSparse = false
        try tree.store.read(node) { isSparse = $0.byteCount < tree.store.capacity / 4 }
        return isSparse ? .sparse(removed) : .removed(removed)
    }
}
