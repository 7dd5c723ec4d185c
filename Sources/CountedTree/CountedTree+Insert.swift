package enum InsertOutcome: Equatable, Sendable {
    case inserted
    /// The key was there; the tree is as it was.
    case present
}

/// What inserting below a branch did to its child.
private enum ChildInsert {
    case present
    case inserted
    /// The child's upper cells went to a new node.
    case split(NodeNumber, separator: StoredKey, lower: Measure, upper: Measure)
}

extension CountedTree {
    /// Adds an entry. O(log n).
    @discardableResult
    package mutating func insert(_ key: RawSpan, weight: Int = 1) throws -> InsertOutcome {
        precondition(root.isWeighted || weight == 1, "Only entries of a weighted tree have weights.")
        let added = Measure(count: 1, weight: weight)
        if root.node == 0 {
            var writer = NodeWriter(level: 0, isWeighted: root.isWeighted)
            writer.appendLeafCell(try store.storedForm(of: key), weight: weight)
            root.node = try store.allocate()
            root.level = 0
            try store.write(root.node, writer.node())
            root.measure = added
            return .inserted
        }
        switch try insert(key, added, into: root.node, level: root.level) {
        case .present: return .present
        case .inserted: break
        case .split(let new, let separator, let lower, let upper):
            var writer = NodeWriter(level: root.level + 1, isWeighted: root.isWeighted)
            writer.appendBranchCell(child: root.node, lower, .empty)
            writer.appendBranchCell(child: new, upper, separator)
            root.node = try store.allocate()
            root.level += 1
            try store.write(root.node, writer.node())
        }
        try changeMeasure { $0 += added }
        return .inserted
    }

    private func insert(_ key: RawSpan, _ added: Measure, into node: NodeNumber, level: Int) throws -> ChildInsert {
        level == 0
            ? try insertIntoLeaf(key, weight: added.weight, node)
            : try insertIntoBranch(key, added, node, level: level)
    }

    private func insertIntoLeaf(_ key: RawSpan, weight: Int, _ node: NodeNumber) throws -> ChildInsert {
        var slot = 0
        var isPresent = false
        try read(node, level: 0) { view in
            slot = try leafSlot(for: key, in: view)
            isPresent = try slot < view.slotCount && compare(key, with: view, slot) == 0
        }
        if isPresent { return .present }
        let stored = try store.storedForm(of: key)
        var writer = NodeWriter(level: 0, isWeighted: root.isWeighted)
        try read(node, level: 0) { view in
            try writer.append(0..<slot, of: view)
            writer.appendLeafCell(stored, weight: weight)
            try writer.append(slot..<view.slotCount, of: view)
        }
        if writer.byteCount <= store.capacity {
            try store.write(node, writer.node())
            return .inserted
        }
        return try split(writer, of: node, level: 0, added: slot)
    }

    private func insertIntoBranch(
        _ key: RawSpan, _ added: Measure, _ node: NodeNumber, level: Int
    ) throws -> ChildInsert {
        var slot = 0
        var child: NodeNumber = 0
        try read(node, level: level) { view in
            slot = try childSlot(for: key, in: view)
            child = view.child(of: try view.cell(at: slot))
        }
        switch try insert(key, added, into: child, level: level - 1) {
        case .present: return .present
        case .inserted:
            try adjust(slot, of: node, level: level) { $0 += added }
            return .inserted
        case .split(let new, let separator, let lower, let upper):
            var writer = NodeWriter(level: level, isWeighted: root.isWeighted)
            try read(node, level: level) { view in
                try writer.append(0..<slot, of: view)
                writer.appendBranchCell(child: child, lower, try view.storedKey(at: slot))
                writer.appendBranchCell(child: new, upper, separator)
                try writer.append(slot + 1..<view.slotCount, of: view)
            }
            if writer.byteCount <= store.capacity {
                try store.write(node, writer.node())
                return .inserted
            }
            return try split(writer, of: node, level: level, added: slot + 1)
        }
    }

    /// Writes too many cells as two nodes: the old one and a new one for the upper cells.
    private func split(_ writer: NodeWriter, of node: NodeNumber, level: Int, added slot: Int) throws -> ChildInsert {
        let cut = writer.splitSlot(added: slot)
        let lower = writer.node(0..<cut)
        let rest = writer.node(cut..<writer.slotCount)
        let (separator, upper) =
            level == 0
            ? (try self.separator(between: lower, and: rest, of: node), rest)
            : try takeFirstSeparator(of: rest, node, level: level)
        let lowerMeasure = try measure(of: lower, node, level: level)
        let upperMeasure = try measure(of: upper, node, level: level)
        let new = try store.allocate()
        try store.write(node, lower)
        try store.write(new, upper)
        return .split(new, separator: separator, lower: lowerMeasure, upper: upperMeasure)
    }

    /// A branch's first separator moves up when it is split off: nothing below it is less.
    private func takeFirstSeparator(
        of bytes: [UInt8], _ node: NodeNumber, level: Int
    ) throws -> (StoredKey, remaining: [UInt8]) {
        let view = try NodeView(bytes.span.bytes, node: node, level: level, isWeighted: root.isWeighted)
        let first = try view.cell(at: 0)
        var writer = NodeWriter(level: level, isWeighted: root.isWeighted)
        writer.appendBranchCell(child: view.child(of: first), try view.measure(of: first), .empty)
        try writer.append(1..<view.slotCount, of: view)
        return (try view.storedKey(at: 0), writer.node())
    }

    private func measure(of bytes: [UInt8], _ node: NodeNumber, level: Int) throws -> Measure {
        let view = try NodeView(bytes.span.bytes, node: node, level: level, isWeighted: root.isWeighted)
        return try view.measure()
    }

    /// The shortest key that divides two leaves: a prefix of the upper one's first key.
    private func separator(between lower: [UInt8], and upper: [UInt8], of node: NodeNumber) throws -> StoredKey {
        let lowerView = try NodeView(lower.span.bytes, node: node, level: 0, isWeighted: root.isWeighted)
        let upperView = try NodeView(upper.span.bytes, node: node, level: 0, isWeighted: root.isWeighted)
        var last: [UInt8] = []
        var separator = StoredKey.empty
        try handOut(lowerView.slotCount - 1, of: lowerView) { key, _ in last = [UInt8](key) }
        try handOut(0, of: upperView) { key, _ in
            separator = try store.storedForm(of: key.extracting(first: key.commonPrefixLength(last.span.bytes) + 1))
        }
        return separator
    }
}

extension CountedTree {
    /// Changes one child's measure in a branch by a delta.
    func adjust(_ slot: Int, of node: NodeNumber, level: Int, _ change: (inout Measure) -> Void) throws {
        var bytes: [UInt8] = []
        try read(node, level: level) { view in
            let cell = try view.cell(at: slot)
            var measure = try view.measure(of: cell)
            change(&measure)
            bytes.reserveCapacity(view.bytes.byteCount + 8)
            bytes.append(contentsOf: view.bytes)
            let offset = cell.range.lowerBound + 8
            bytes.replaceLittleEndian(UInt64(truncatingIfNeeded: measure.count), at: offset)
            if root.isWeighted {
                bytes.replaceLittleEndian(UInt64(truncatingIfNeeded: measure.weight), at: offset + 8)
            }
        }
        try store.write(node, bytes)
    }
}

extension NodeView {
    /// A slot's key as its cell holds it.
    func storedKey(at slot: Int) throws(TreeError) -> StoredKey {
        let cell = try cell(at: slot)
        return StoredKey(bytes: [UInt8](bytes.extracting(cell.keyRange)), isLong: cell.hasLongKey)
    }
}
