internal import FetchIndexPlatform
extension CountedTree {
    /// Checks the tree, and returns the defects found, one sentence each; empty if the tree is intact. Nodes below an
    /// unreadable node aren't checked. Adds the nodes that it reaches to `visited`; a node that is already in `visited`
    /// is a defect. O(n).
    package func check(visiting visited: inout Set<NodeNumber>) -> [String] {
        var defects: [String] = []
        guard root.node != 0 else {
            return root.measure == .zero ? [] : ["a tree without nodes counts \(count) entries of weight \(weight)"]
        }
        var checker = Checker(tree: self, visited: visited)
        let measure = checker.check(root.node, level: root.level, from: nil, to: nil)
        // No cell has the root's summary to compare with. Computing it here finds damaged summaries in the root.
        do { _ = try summary(of: root.node, level: root.level) } catch { checker.defects.append("\(error)") }
        if let measure, measure != root.measure {
            checker.defects.append(
                "the root counts \(count) entries of weight \(weight), but its nodes hold \(measure.count) of weight \(measure.weight)"
            )
        }
        visited = checker.visited
        defects = checker.defects
        return defects
    }

    package func check() -> [String] {
        var visited: Set<NodeNumber> = []
        return check(visiting: &visited)
    }
}

private struct Checker {
    let tree: CountedTree
    var visited: Set<NodeNumber>
    var defects: [String] = []

    /// Checks a node and all nodes below it. Their keys must be in lower..<upper. Returns the node's measure; nil if
    /// the node can't be read, if it was reached before, or if a child's summaries can't be read.
    mutating func check(_ node: NodeNumber, level: Int, from lower: [UInt8]?, to upper: [UInt8]?) -> Measure? {
        guard visited.insert(node).inserted else {
            defects.append("node \(node) is reached twice")
            return nil
        }
        do {
            let contents = try read(node, level: level)
            checkKeys(contents.keys, of: node, level: level, from: lower, to: upper)
            checkSharedLengths(contents, of: node, level: level)
            guard level > 0 else { return contents.measure }
            for slot in contents.children.indices {
                let (child, counted) = contents.children[slot]
                let from = slot == 0 ? lower : contents.keys[slot]
                let to = slot + 1 < contents.keys.count ? contents.keys[slot + 1] : upper
                let measure = check(child, level: level - 1, from: from, to: to)
                if let measure, measure != counted {
                    defects.append(
                        "node \(node) counts \(counted.count) entries of weight \(counted.weight) in node \(child), which holds \(measure.count) of weight \(measure.weight)"
                    )
                }
                guard measure != nil, tree.summarizer != nil else { continue }
                if try tree.summary(of: child, level: level - 1) != contents.summaries[slot] {
                    defects.append("node \(node) has a wrong summary of node \(child)")
                }
            }
            return contents.measure
        } catch {
            defects.append("\(error)")
            return nil
        }
    }

    private struct Contents {
        var keys: [[UInt8]] = []
        var cells: [NodeView.Cell] = []
        var children: [(NodeNumber, Measure)] = []
        /// The children's summaries; each is empty in a tree without summaries.
        var summaries: [[UInt8]] = []
        var measure = Measure.zero
    }

    private mutating func read(_ node: NodeNumber, level: Int) throws -> Contents {
        var contents = Contents()
        var rest: [NodeNumber] = []
        try tree.read(node, level: level) { view in
            for slot in 0..<view.slotCount {
                let cell = try view.cell(at: slot)
                let measure = try view.measure(of: cell)
                contents.measure += measure
                if level > 0 {
                    contents.children.append((view.child(of: cell), measure))
                    contents.summaries.append([UInt8](copying: view.summary(of: cell)))
                }
                try tree.withWholeKey(at: slot, of: view) { contents.keys.append([UInt8](copying: $0)) }
                contents.cells.append(cell)
                rest += try tree.store.overflowNodes(of: cell, in: view)
            }
            if view.bytes.byteCount > tree.store.capacity { defects.append("node \(node) is too large") }
        }
        for node in rest where !visited.insert(node).inserted {
            defects.append("node \(node) of a long key is reached twice")
        }
        return contents
    }

    private mutating func checkKeys(
        _ keys: [[UInt8]], of node: NodeNumber, level: Int, from lower: [UInt8]?, to upper: [UInt8]?
    ) {
        if level > 0 && keys.first != [] { defects.append("the first slot of branch \(node) has a key") }
        let meaningful = level > 0 ? keys.dropFirst() : keys[...]
        for (key, next) in zip(meaningful, meaningful.dropFirst())
        where key.span.bytes.compare(next.span.bytes) >= 0 {
            defects.append("keys of node \(node) are out of order")
        }
        if let lower, let first = meaningful.first, first.span.bytes.compare(lower.span.bytes) < 0 {
            defects.append("node \(node) has a key below its separator")
        }
        if let upper, let last = meaningful.last, last.span.bytes.compare(upper.span.bytes) >= 0 {
            defects.append("node \(node) has a key that is not below its right neighbour's separator")
        }
    }

    /// Checks the shared lengths and long keys of a node. Searches require that shared lengths are exact, and that the
    /// node has equally many bytes of each long key.
    private mutating func checkSharedLengths(_ contents: Contents, of node: NodeNumber, level: Int) {
        let first = NodeLayout.firstKeySlot(isLeaf: level == 0)
        func inlineKey(_ number: Int) -> ArraySlice<UInt8> {
            contents.keys[first + number].prefix(contents.cells[first + number].inlineCount)
        }
        let maximum = NodeLayout.maximumInlineKey(capacity: tree.store.capacity, tree.form)
        for (slot, cell) in contents.cells.enumerated()
        where cell.hasLongKey ? cell.inlineCount != maximum : cell.inlineCount > maximum {
            defects.append("slot \(slot) of node \(node) has a wrong number of its key's bytes: \(cell.inlineCount)")
        }
        for number in 1..<max(1, contents.keys.count - first) {
            let shared = zip(inlineKey(number), inlineKey(number & (number - 1))).prefix { $0 == $1 }.count
            if shared != contents.cells[first + number].sharedLength {
                defects.append(
                    "slot \(first + number) of node \(node) shares \(shared) bytes with an earlier key, but stores another length"
                )
            }
        }
    }
}
