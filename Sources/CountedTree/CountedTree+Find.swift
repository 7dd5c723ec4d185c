internal import Bytes
/// What a descent to a key found.
package struct Rank: Equatable, Sendable {
    /// Entries, and their weight, whose keys are less.
    package let before: Measure
    package let isPresent: Bool
    /// The key's own weight and summary; 0 and empty when it is not there.
    package let weight: Int
    package let summary: [UInt8]
}

/// An entry of a tree.
package struct TreeEntry: ~Escapable {
    package let key: RawSpan
    package let weight: Int
    /// Empty in a tree without summaries.
    package let summary: RawSpan

    @_lifetime(copy key, copy summary)
    init(key: RawSpan, weight: Int, summary: RawSpan) {
        self.key = key
        self.weight = weight
        self.summary = summary
    }
}

extension CountedTree {
    /// How many entries have a lesser key, and whether the key is there. O(log n).
    package func rank(of key: RawSpan) throws -> Rank {
        var isPresent = false
        var weight = 0
        var summary: [UInt8] = []
        let before = try descend(to: key) { view, slot, _ in
            isPresent = try slot < view.slotCount && compare(key, with: view, slot) == 0
            if isPresent {
                let cell = try view.cell(at: slot)
                weight = try view.measure(of: cell).weight
                if summarizer != nil { summary = [UInt8](copying: view.summary(of: cell)) }
            }
        }
        return Rank(before: before, isPresent: isPresent, weight: weight, summary: summary)
    }

    /// Calls the body with the first entry whose key is not less than `key`, and with its rank. False when all
    /// keys are less. O(log n).
    package func firstEntry(from key: RawSpan, _ body: (_ key: RawSpan, _ rank: Int) throws -> Void) throws -> Bool {
        var isFound = false
        let before = try descend(to: key) { view, slot, before in
            isFound = slot < view.slotCount
            if isFound { try handOut(slot, of: view) { try body($0.key, before.count) } }
        }
        // The leaf's keys may all be less; then the next leaf begins with the entry.
        guard !isFound, before.count < count else { return isFound }
        try entry(at: before.count) { entry, before in try body(entry.key, before.count) }
        return true
    }

    /// Hands out the entry that `rank` entries stand before, and the measure of those entries.
    /// Traps unless 0 <= rank < count. O(log n).
    package func entry(at rank: Int, _ body: (borrowing TreeEntry, _ before: Measure) throws -> Void) throws {
        precondition(rank >= 0 && rank < count, "A rank must be one of the tree's entries.")
        _ = try descend { view, before in
            try view.slot(past: Measure(count: rank - before.count, weight: .max))
        } body: { view, slot, before in
            try handOut(slot, of: view) { try body($0, before) }
        }
    }

    /// Hands out the entry in which the weight lies, and what stands before it.
    /// Traps unless 0 <= weight < total weight. O(log n).
    package func entry(
        atWeight weight: Int, _ body: (borrowing TreeEntry, _ before: Measure) throws -> Void
    ) throws {
        precondition(weight >= 0 && weight < self.weight, "A weight must be less than the tree's.")
        _ = try descend { view, before in
            try view.slot(past: Measure(count: .max, weight: weight - before.weight))
        } body: { view, slot, before in
            try handOut(slot, of: view) { try body($0, before) }
        }
    }

    /// The descent to the first slot whose key is not less; in a leaf, it may be one past the last.
    private func descend(
        to key: RawSpan, body: (NodeView, _ slot: Int, _ before: Measure) throws -> Void
    ) throws -> Measure {
        try descend { view, _ in
            let slot = try view.isLeaf ? leafSlot(for: key, in: view) : childSlot(for: key, in: view)
            return (slot, try view.measure(of: 0..<slot))
        } body: {
            try body($0, $1, $2)
        }
    }

    /// The one descent: `choose` selects the slot of each node, given the measure of what precedes the node, and says what
    /// precedes the slot in it. Calls the body with the leaf and its slot. Returns the measure of what precedes the slot.
    private func descend(
        _ choose: (NodeView, _ before: Measure) throws -> (slot: Int, before: Measure),
        body: (NodeView, _ slot: Int, _ before: Measure) throws -> Void
    ) throws -> Measure {
        var before = Measure.zero
        guard root.node != 0 else { return before }
        var node = root.node
        var level = root.level
        while true {
            var child: NodeNumber = 0
            try read(node, level: level) { view in
                let (slot, inNode) = try choose(view, before)
                before += inNode
                if level > 0 {
                    child = view.child(of: try view.cell(at: slot))
                } else {
                    try body(view, slot, before)
                }
            }
            guard before.count <= root.measure.count, before.weight <= root.measure.weight else {
                throw TreeError.corrupted(node: node, "its counts exceed the tree's")
            }
            if level == 0 { return before }
            node = child
            level -= 1
        }
    }

    /// The first slot of a leaf, from one on, whose key is not less.
    func leafSlot(for key: RawSpan, in view: NodeView, from slot: Int = 0) throws -> Int {
        var low = slot
        var high = view.slotCount
        let difference = Self.compareStart(of: key, with: view)
        if difference != 0 { return difference < 0 ? low : high }
        while low < high {
            let middle = (low + high) / 2
            if try compareRest(of: key, with: view, middle) > 0 { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The last child of a branch whose separator is not greater; the first child's is less than all keys.
    func childSlot(for key: RawSpan, in view: NodeView) throws -> Int {
        var low = 1
        var high = view.slotCount
        while low < high {
            let middle = (low + high) / 2
            if try compareRest(of: key, with: view, middle) >= 0 { low = middle + 1 } else { high = middle }
        }
        return low - 1
    }

    /// Compares a key with a slot's.
    func compare(_ key: RawSpan, with view: NodeView, _ slot: Int) throws -> Int {
        let difference = Self.compareStart(of: key, with: view)
        return difference != 0 ? difference : try compareRest(of: key, with: view, slot)
    }

    /// Compares a key's first bytes with what all keys of a node begin with. 0: with the others it depends on their rest.
    private static func compareStart(of key: RawSpan, with view: NodeView) -> Int {
        if view.prefixLength == 0 { return 0 }
        return key.byteCount < view.prefixLength
            ? key.compare(view.prefix) : key.extracting(first: view.prefixLength).compare(view.prefix)
    }

    /// Compares a key that begins as those of the node do with a slot's, reading the rest of a long one only when its first
    /// bytes do not decide.
    private func compareRest(of key: RawSpan, with view: NodeView, _ slot: Int) throws -> Int {
        let cell = try view.cell(at: slot)
        let inline = view.inlineSuffix(of: cell)
        let suffix = key.extracting(view.prefixLength..<key.byteCount)
        guard cell.hasLongKey, suffix.byteCount >= inline.byteCount,
            suffix.extracting(first: inline.byteCount).compare(inline) == 0
        else { return suffix.compare(inline) }
        let whole = try store.longKey(of: cell, in: view)
        return key.compare(whole.span.bytes)
    }

    /// Calls the body with the entry in a slot of a leaf.
    func handOut(_ slot: Int, of view: NodeView, _ body: (borrowing TreeEntry) throws -> Void) throws {
        let cell = try view.cell(at: slot)
        let weight = try view.measure(of: cell).weight
        let summary = view.summary(of: cell)
        if cell.hasLongKey {
            let key = try store.longKey(of: cell, in: view)
            try body(TreeEntry(key: key.span.bytes, weight: weight, summary: summary))
        } else {
            try view.withInlineKey(of: cell) { try body(TreeEntry(key: $0, weight: weight, summary: summary)) }
        }
    }
}
