internal import FetchIndexPlatform
/// The result of looking up a key.
package struct Rank: Equatable, Sendable {
    /// The number and the total weight of the entries with lesser keys.
    package let before: Measure
    package let isPresent: Bool
    /// The weight of the key's entry; 0 if the tree lacks the key.
    package let weight: Int
    /// The summary of the key's entry; empty if the tree lacks the key or has no summaries.
    package let summary: [UInt8]
}

/// An entry of a tree.
package struct TreeEntry: ~Escapable {
    package let key: RawSpan
    package let weight: Int
    /// The entry's summary; empty in a tree without summaries.
    package let summary: RawSpan

    @_lifetime(copy key, copy summary)
    init(key: RawSpan, weight: Int, summary: RawSpan) {
        self.key = key
        self.weight = weight
        self.summary = summary
    }
}

extension CountedTree {
    /// Looks up a key: the number and the weight of the entries with lesser keys, and the weight and summary of the
    /// key's own entry, if any. O(log n).
    package func rank(of key: RawSpan) throws -> Rank {
        var isPresent = false
        var weight = 0
        var summary: [UInt8] = []
        let before = try descend(to: key) { view, slot, isEqual, _ in
            isPresent = isEqual
            if isPresent {
                let cell = try view.cell(at: slot)
                weight = try view.measure(of: cell).weight
                if summarizer != nil { summary = [UInt8](copying: view.summary(of: cell)) }
            }
        }
        return Rank(before: before, isPresent: isPresent, weight: weight, summary: summary)
    }

    /// Calls the body with the first entry whose key is `key` or greater, and with its rank. Returns false if all keys
    /// of the tree are less. O(log n).
    package func firstEntry(from key: RawSpan, _ body: (_ key: RawSpan, _ rank: Int) throws -> Void) throws -> Bool {
        var isFound = false
        let before = try descend(to: key) { view, slot, _, before in
            isFound = slot < view.slotCount
            if isFound { try handOut(slot, of: view) { try body($0.key, before.count) } }
        }
        // If all keys of the leaf are less than `key`, the entry is the first one of the next leaf.
        guard !isFound, before.count < count else { return isFound }
        try entry(at: before.count) { entry, before in try body(entry.key, before.count) }
        return true
    }

    /// Calls the body with the entry at a rank, and with the measure of the entries before it. Traps unless 0 <= rank <
    /// count. O(log n).
    package func entry(at rank: Int, _ body: (borrowing TreeEntry, _ before: Measure) throws -> Void) throws {
        precondition(rank >= 0 && rank < count, "A rank must be at least 0 and less than the number of entries.")
        _ = try descend { view, before in
            try view.slot(past: Measure(count: rank - before.count, weight: .max))
        } body: { view, slot, before in
            try handOut(slot, of: view) { try body($0, before) }
        }
    }

    /// Finds the first entry whose weight, added to the weights of all entries before it, exceeds `weight`. Calls the
    /// body with this entry and the measure of the entries before it. Traps unless 0 <= weight < total weight. O(log
    /// n).
    package func entry(
        atWeight weight: Int, _ body: (borrowing TreeEntry, _ before: Measure) throws -> Void
    ) throws {
        precondition(weight >= 0 && weight < self.weight, "A weight must be at least 0 and less than the tree's.")
        _ = try descend { view, before in
            try view.slot(past: Measure(count: .max, weight: weight - before.weight))
        } body: { view, slot, before in
            try handOut(slot, of: view) { try body($0, before) }
        }
    }

    /// Descends to the leaf for a key, if the tree isn't empty. Calls the body with the leaf and its first slot whose
    /// key is `key` or greater; if all keys of the leaf are less, with the number of its slots. Returns the measure of
    /// the tree's entries before that slot; in an empty tree zero.
    private func descend(
        to key: RawSpan, body: (NodeView, _ slot: Int, _ isEqual: Bool, _ before: Measure) throws -> Void
    ) throws -> Measure {
        var isEqual = false
        return try descend { view, _ in
            let slot: Int
            (slot, isEqual) = try firstSlot(from: key, in: view)
            return (slot, try view.measure(of: 0..<slot))
        } body: {
            try body($0, $1, isEqual, $2)
        }
    }

    /// The descent that all other descents use. In each node, calls `choose` with the node and the measure of the
    /// tree's entries before the node; `choose` returns a slot, and the measure of the node's own entries before that
    /// slot. Calls the body with the leaf and its chosen slot. Returns the measure of the tree's entries before that
    /// slot. In an empty tree, only returns zero.
    func descend(
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

    /// Finds the slot of a branch to which a descent to a key leads, or the first slot of a leaf whose key is `key` or
    /// greater; if all keys of the leaf are less, the number of its slots.
    func firstSlot(from key: RawSpan, in view: NodeView) throws -> (slot: Int, isEqual: Bool) {
        let last = try lastSlot(upTo: key, in: view)
        return (view.isLeaf && !last.isEqual ? last.slot + 1 : last.slot, last.isEqual)
    }

    /// Finds the last slot whose key is `key` or less. If all keys are greater, returns a branch's first slot, which
    /// has no key, or -1 for a leaf. O(log slots) comparisons.
    func lastSlot(upTo key: RawSpan, in view: NodeView) throws -> (slot: Int, isEqual: Bool) {
        let first = view.firstKeySlot
        let keyCount = view.slotCount - first
        guard keyCount > 0 else { return (first - 1, false) }
        // The length of the prefix that `key` shares with those bytes of the key at `number` that are in the node. The
        // key at `number` is less than `key`.
        var matched = 0
        var order = try compare(key, &matched, withRestOf: try view.cell(at: first), in: view)
        if order <= 0 { return order == 0 ? (first, true) : (first - 1, false) }
        var number = 0
        var step = 1 << (Int.bitWidth - 1 - keyCount.leadingZeroBitCount)
        while step > 0 {
            // The key at `number` is the base of the key at `next`.
            let next = number | step
            step >>= 1
            if next >= keyCount { continue }
            let cell = try view.cell(at: first + next)
            if cell.sharedLength > matched {
                number = next
            } else if cell.sharedLength == matched {
                order = try compare(key, &matched, withRestOf: cell, in: view)
                if order == 0 { return (first + next, true) }
                if order > 0 { number = next }
            }
        }
        return (first + number, false)
    }

    /// Compares a key with a cell's key. The caller knows that their first `matched` bytes are equal: the bytes that
    /// `key` shares with the cell's base. If `key` is greater, raises `matched` to the number of first bytes that are
    /// equal, without counting those of a long key that are in overflow nodes. Returns a negative number, 0 or a
    /// positive number if `key` is less, equal or greater. Reads a long key's overflow nodes only if the bytes in the
    /// node don't decide.
    private func compare(
        _ key: RawSpan, _ matched: inout Int, withRestOf cell: NodeView.Cell, in view: NodeView
    ) throws -> Int {
        let rest = view.inlineRest(of: cell)
        let unmatched = key.extracting(matched..<key.byteCount)
        let common = unmatched.commonPrefixLength(rest)
        var order = unmatched.byteCount - common
        if common < rest.byteCount {
            order =
                order == 0
                ? -1
                : Int(unmatched.unsafeLoad(fromByteOffset: common, as: UInt8.self))
                    - Int(rest.unsafeLoad(fromByteOffset: common, as: UInt8.self))
        } else if cell.hasLongKey, order == 0 {
            order = -1
        } else if cell.hasLongKey {
            let whole = try store.longKey(of: cell, in: view)
            order = key.compare(whole.span.bytes)
        }
        if order > 0 { matched += common }
        return order
    }

    /// Calls the body with a slot's whole key, including the rest of a long key.
    func withWholeKey(at slot: Int, of view: NodeView, _ body: (RawSpan) throws -> Void) throws {
        let cell = try view.cell(at: slot)
        if cell.hasLongKey {
            let key = try store.longKey(of: cell, in: view)
            try body(key.span.bytes)
        } else {
            try view.withInlineKey(of: cell, body)
        }
    }

    /// Calls the body with the entry in a slot of a leaf.
    func handOut(_ slot: Int, of view: NodeView, _ body: (borrowing TreeEntry) throws -> Void) throws {
        let cell = try view.cell(at: slot)
        try view.withInlineKey(of: cell) { try handOut(cell, of: view, $0, body) }
    }

    /// Calls the body with a cell's entry. `inlineKey` is the part of its key that is in the node.
    func handOut(
        _ cell: NodeView.Cell, of view: NodeView, _ inlineKey: RawSpan, _ body: (borrowing TreeEntry) throws -> Void
    ) throws {
        let weight = try view.measure(of: cell).weight
        let summary = view.summary(of: cell)
        if cell.hasLongKey {
            let key = try store.longKey(of: cell, in: view)
            try body(TreeEntry(key: key.span.bytes, weight: weight, summary: summary))
        } else {
            try body(TreeEntry(key: inlineKey, weight: weight, summary: summary))
        }
    }
}
