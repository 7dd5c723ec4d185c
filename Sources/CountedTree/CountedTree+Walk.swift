package enum Direction: Sendable {
    case forward
    case backward
}

extension CountedTree {
    /// Hands out the entries from a rank on, in order or against it, until the body returns false. A rank at or past
    /// the end (or -1) has nothing to hand out. O(log n + entries). The body writes nothing to the store.
    package func walk(
        from rank: Int, _ direction: Direction = .forward,
        _ body: (_ key: RawSpan, _ weight: Int) throws -> Bool
    ) throws {
        guard root.node != 0, rank >= 0, rank < count else { return }
        let skipped = direction == .forward ? rank : count - 1 - rank
        _ = try walk(root.node, level: root.level, skipping: skipped, direction, body)
    }

    /// Skips entries at the side where the walk begins. False when the body has had enough.
    private func walk(
        _ node: NodeNumber, level: Int, skipping: Int, _ direction: Direction,
        _ body: (RawSpan, Int) throws -> Bool
    ) throws -> Bool {
        var skipping = skipping
        var goesOn = true
        try read(node, level: level) { view in
            for index in 0..<view.slotCount where goesOn {
                let slot = direction == .forward ? index : view.slotCount - 1 - index
                let cell = try view.cell(at: slot)
                let count = try view.measure(of: cell).count
                if skipping >= count {
                    skipping -= count
                } else if level == 0 {
                    try handOut(slot, of: view) { key, weight in goesOn = try body(key, weight) }
                } else {
                    goesOn = try walk(
                        view.child(of: cell), level: level - 1, skipping: skipping, direction, body)
                    skipping = 0
                }
            }
        }
        return goesOn
    }
}
