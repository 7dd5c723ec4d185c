internal import FetchIndexPlatform

extension CountedTree {
    /// Computes the summary of the entries with these ranks; empty in a tree without summaries. Traps if the
    /// range isn't within the tree's ranks. O(log n).
    package func summary(ofRanks ranks: Range<Int>) throws -> [UInt8] {
        precondition(ranks.lowerBound >= 0 && ranks.upperBound <= count, "A rank is outside of the tree.")
        guard let sum = summarizer?.begin() else { return [] }
        if !ranks.isEmpty { try add(ranks, of: root.node, level: root.level, to: sum) }
        return sum.take()
    }

    /// Adds the summaries of a node's entries with these ranks to a sum. Ranks are counted from the node's first entry.
    private func add(_ ranks: Range<Int>, of node: NodeNumber, level: Int, to sum: any RunningSummary) throws {
        var before = 0
        try read(node, level: level) { view in
            for slot in 0..<view.slotCount where before < ranks.upperBound {
                let cell = try view.cell(at: slot)
                let own = before..<before + (try view.measure(of: cell).count)
                before = own.upperBound
                let wanted = own.clamped(to: ranks)
                if wanted.isEmpty { continue }
                if wanted == own {
                    try sum.add(view.summary(of: cell))
                } else if level > 0 {
                    let inChild = wanted.lowerBound - own.lowerBound..<wanted.upperBound - own.lowerBound
                    try add(inChild, of: view.child(of: cell), level: level - 1, to: sum)
                }
            }
            guard before >= ranks.upperBound else {
                throw TreeError.corrupted(node: node, "its counts do not add up to the stored total")
            }
        }
    }

    /// Counts the entries with lesser keys, and computes their summary, which is empty in a tree without summaries. One
    /// descent: O(log n).
    package func prefix(before key: RawSpan) throws -> (count: Int, summary: [UInt8]) {
        let sum = summarizer?.begin()
        let before = try descend { view, _ in
            let slot = try firstSlot(from: key, in: view).slot
            if let sum {
                for other in 0..<slot { try sum.add(view.summary(of: try view.cell(at: other))) }
            }
            return (slot, try view.measure(of: 0..<slot))
        } body: { _, _, _ in
        }
        return (before.count, sum?.take() ?? [])
    }

    /// Computes the summary of all entries below a node; empty in a tree without summaries. O(slots).
    func summary(of node: NodeNumber, level: Int) throws -> [UInt8] {
        guard let sum = summarizer?.begin() else { return [] }
        try read(node, level: level) { view in
            for slot in 0..<view.slotCount { try sum.add(view.summary(of: try view.cell(at: slot))) }
        }
        return sum.take()
    }
}
