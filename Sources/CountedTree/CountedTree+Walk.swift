package enum Direction: Sendable {
    case forward
    case backward
}

extension CountedTree {
    /// Calls the body with one entry after the other, forwards or backwards, starting at a rank, until the body returns
    /// false. Does nothing if the rank is outside of the tree. The body must not write to the store. O(log n +
    /// entries).
    package func walk(
        from rank: Int, _ direction: Direction = .forward,
        _ body: (borrowing TreeEntry) throws -> Bool
    ) throws {
        guard root.node != 0, rank >= 0, rank < count else { return }
        let skipped = direction == .forward ? rank : count - 1 - rank
        let handedOut = try walk(root.node, level: root.level, skipping: skipped, direction, body)
        try check(handedOut, of: root.node, against: count - skipped)
    }

    /// Walks over the entries below a node. Skips the first `skipping` entries in the direction of the walk. Returns
    /// the number of entries that were handed to the body; nil if the body ended the walk.
    private func walk(
        _ node: NodeNumber, level: Int, skipping: Int, _ direction: Direction,
        _ body: (borrowing TreeEntry) throws -> Bool
    ) throws -> Int? {
        var skipping = skipping
        var handedOut: Int? = 0
        try read(node, level: level) { view in
            if level == 0, direction == .forward {
                try view.forEachKey(from: skipping) { cell, key in
                    guard let sum = handedOut else { return false }
                    try handOut(cell, of: view, key) { handedOut = try body($0) ? sum + 1 : nil }
                    return handedOut != nil
                }
                return
            }
            for index in (level == 0 ? min(skipping, view.slotCount) : 0)..<view.slotCount {
                guard let sum = handedOut else { return }
                let slot = direction == .forward ? index : view.slotCount - 1 - index
                if level == 0 {
                    try handOut(slot, of: view) { handedOut = try body($0) ? sum + 1 : nil }
                    continue
                }
                let cell = try view.cell(at: slot)
                let count = try view.measure(of: cell).count
                if skipping >= count {
                    skipping -= count
                } else {
                    let child = view.child(of: cell)
                    let below = try walk(child, level: level - 1, skipping: skipping, direction, body)
                    try check(below, of: child, against: count - skipping)
                    handedOut = below.map { sum + $0 }
                    skipping = 0
                }
            }
        }
        return handedOut
    }

    /// Throws if a walk found fewer or more entries below a node than the tree counts there; not if the body ended the
    /// walk. If this were not checked, damaged branches that lead many times to one child could make a walk take
    /// exponential time.
    private func check(_ handedOut: Int?, of node: NodeNumber, against count: Int) throws {
        guard let handedOut, handedOut != count else { return }
        throw TreeError.corrupted(node: node, "its counts do not add up to the stored total")
    }
}
