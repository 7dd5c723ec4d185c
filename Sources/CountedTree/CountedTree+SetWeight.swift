extension CountedTree {
    /// Gives an entry another weight. False when the key is not there. O(log n).
    @discardableResult
    package mutating func setWeight(_ weight: Int, of key: RawSpan) throws -> Bool {
        precondition(root.isWeighted, "Only entries of a weighted tree have weights.")
        guard root.node != 0 else { return false }
        guard let old = try setWeight(weight, of: key, in: root.node, level: root.level) else { return false }
        try changeMeasure { $0.weight += weight - old }
        return true
    }

    /// Returns the old weight; nil when the key is not there.
    private func setWeight(_ weight: Int, of key: RawSpan, in node: NodeNumber, level: Int) throws -> Int? {
        if level == 0 { return try setLeafWeight(weight, of: key, in: node) }
        var slot = 0
        var child: NodeNumber = 0
        try read(node, level: level) { view in
            slot = try childSlot(for: key, in: view)
            child = view.child(of: try view.cell(at: slot))
        }
        guard let old = try setWeight(weight, of: key, in: child, level: level - 1) else { return nil }
        try adjust(slot, of: node, level: level) { $0.weight += weight - old }
        return old
    }

    private func setLeafWeight(_ weight: Int, of key: RawSpan, in node: NodeNumber) throws -> Int? {
        var old: Int?
        var writer = NodeWriter(level: 0, isWeighted: true)
        try read(node, level: 0) { view in
            let slot = try leafSlot(for: key, in: view)
            guard slot < view.slotCount, try compare(key, with: view, slot) == 0 else { return }
            old = try view.measure(of: try view.cell(at: slot)).weight
            try writer.append(0..<slot, of: view)
            writer.appendLeafCell(try view.storedKey(at: slot), weight: weight)
            try writer.append(slot + 1..<view.slotCount, of: view)
        }
        if old != nil { try store.write(node, writer.node()) }
        return old
    }
}
