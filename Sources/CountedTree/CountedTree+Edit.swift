/// A change of one entry, or the question where it stands.
package struct TreeEdit {
    package enum Change: Equatable, Sendable {
        /// Leaves an entry as it is that is there already.
        case insert(weight: Int = 1)
        case remove
        case setWeight(Int)
        /// Changes nothing; only the rank is wanted.
        case find
    }

    package let key: [UInt8]
    package let change: Change

    package init(_ key: [UInt8], _ change: Change) {
        self.key = key
        self.change = change
    }
}

/// Where an edit's key stood and stands: how many entries have a lesser key.
package struct EditOutcome: Equatable, Sendable {
    /// Before all edits.
    package let oldRank: Int
    /// After all of them.
    package let newRank: Int
    /// Whether the key was there before.
    package let wasPresent: Bool
}

extension CountedTree {
    /// Makes all edits in one pass that rewrites each node at most once, and says where each key stood and stands.
    /// The keys ascend. O(k log n).
    ///
    /// A node that grows too large is cut into as many as it takes; neighbours are merged when one of them is less
    /// than a quarter full and both fit into one node.
    @discardableResult
    package mutating func apply(_ edits: [TreeEdit]) throws -> [EditOutcome] {
        precondition(
            zip(edits, edits.dropFirst()).allSatisfy { $0.key.span.bytes.compare($1.key.span.bytes) < 0 },
            "The keys of edits must ascend.")
        var pass = EditPass(tree: self, edits: edits)
        root = try pass.editRoot()
        var added = 0
        return zip(edits, pass.found).map { edit, found in
            let outcome = EditOutcome(
                oldRank: found.rank, newRank: found.rank + added, wasPresent: found.isPresent)
            switch edit.change {
            case .insert where !found.isPresent: added += 1
            case .remove where found.isPresent: added -= 1
            case .insert, .remove, .setWeight, .find: break
            }
            return outcome
        }
    }

    /// Adds an entry; false when the key is there. O(log n).
    @discardableResult
    package mutating func insert(_ key: [UInt8], weight: Int = 1) throws -> Bool {
        try !wasPresent(key, .insert(weight: weight))
    }

    /// Takes an entry out; false when the key is not there. O(log n).
    @discardableResult
    package mutating func remove(_ key: [UInt8]) throws -> Bool { try wasPresent(key, .remove) }

    /// Gives an entry another weight; false when the key is not there. O(log n).
    @discardableResult
    package mutating func setWeight(_ weight: Int, of key: [UInt8]) throws -> Bool {
        try wasPresent(key, .setWeight(weight))
    }

    private mutating func wasPresent(_ key: [UInt8], _ change: TreeEdit.Change) throws -> Bool {
        try apply([TreeEdit(key, change)])[0].wasPresent
    }
}

/// One descent over all nodes that the edits touch.
private struct EditPass {
    let tree: CountedTree
    let edits: [TreeEdit]
    /// For each edit, how many entries have a lesser key before all edits, and whether the key is there.
    private(set) var found: [(rank: Int, isPresent: Bool)]
    private let store: any NodeStore
    private let isWeighted: Bool

    /// What became of a node.
    private enum Outcome {
        case unchanged
        /// It holds so much now; a sparse one may fit into a neighbour.
        case changed(Measure, isSparse: Bool)
        /// It had no other entry; it is freed.
        case emptied
        /// Its cells went into several nodes, of which the first is the old one.
        case split([Piece])
    }

    private struct Piece {
        let node: NodeNumber
        let measure: Measure
        /// What divides it from its left neighbour; empty for the first.
        let separator: StoredKey
    }

    init(tree: CountedTree, edits: [TreeEdit]) {
        self.tree = tree
        self.edits = edits
        store = tree.store
        isWeighted = tree.root.isWeighted
        found = Array(repeating: (0, false), count: edits.count)
        for case .insert(let weight) in edits.map(\.change) {
            precondition(isWeighted || weight == 1, "Only entries of a weighted tree have weights.")
        }
    }

    // MARK: Root

    mutating func editRoot() throws -> TreeRoot {
        var root = tree.root
        let outcome =
            root.node == 0
            ? try fillFirstLeaf(of: &root) : try edit(edits.indices, of: root.node, level: root.level, 0, root.measure)
        switch outcome {
        case .unchanged: return root
        case .emptied: return TreeRoot(isWeighted: isWeighted)
        case .changed(let measure, _): root.measure = measure
        case .split(let pieces): try raise(&root, over: pieces)
        }
        let limit = Int(Measure.limit)
        guard (0...limit).contains(root.measure.count), (0...limit).contains(root.measure.weight) else {
            throw TreeError.corrupted(node: root.node, "its counts cannot be right")
        }
        try lower(&root)
        return root
    }

    private func fillFirstLeaf(of root: inout TreeRoot) throws -> Outcome {
        var writer = NodeWriter(level: 0, isWeighted: isWeighted)
        var measure = Measure.zero
        for edit in edits {
            guard case .insert(let weight) = edit.change else { continue }
            writer.appendLeafCell(try store.storedForm(of: edit.key.span.bytes), weight: weight)
            measure += Measure(count: 1, weight: weight)
        }
        if writer.slotCount == 0 { return .unchanged }
        root.node = try store.allocate()
        root.level = 0
        return try finish(writer, of: root.node, level: 0, measure, fillsNodes: true)
    }

    /// Puts as many levels above the pieces of an old root as it takes.
    private func raise(_ root: inout TreeRoot, over pieces: [Piece]) throws {
        var pieces = pieces
        while true {
            root.level += 1
            root.node = try store.allocate()
            root.measure = .zero
            var writer = NodeWriter(level: root.level, isWeighted: isWeighted)
            for piece in pieces {
                writer.appendBranchCell(child: piece.node, piece.measure, piece.separator)
                root.measure += piece.measure
            }
            guard
                case .split(let upper) = try finish(
                    writer, of: root.node, level: root.level, root.measure, fillsNodes: true)
            else { return }
            pieces = upper
        }
    }

    /// A root with one child gives way to it.
    private func lower(_ root: inout TreeRoot) throws {
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

    // MARK: Nodes

    private func read(_ node: NodeNumber, level: Int, _ body: (NodeView) throws -> Void) throws {
        try tree.read(node, level: level, body)
    }

    /// Makes some of the edits below a node, given what stands before it and what it holds.
    private mutating func edit(
        _ some: Range<Int>, of node: NodeNumber, level: Int, _ before: Int, _ measure: Measure
    ) throws -> Outcome {
        level == 0
            ? try editLeaf(some, node, before, measure) : try editBranch(some, node, level: level, before, measure)
    }

    private mutating func editLeaf(
        _ some: Range<Int>, _ node: NodeNumber, _ before: Int, _ measure: Measure
    ) throws -> Outcome {
        /// An edit that changes the leaf, its slot there and an inserted key's form for a cell.
        var changes: [(edit: Int, slot: Int, key: StoredKey)] = []
        var slotCount = 0
        try read(node, level: 0) { view in
            slotCount = view.slotCount
            var slot = 0
            for index in some {
                let edit = edits[index]
                slot = try tree.leafSlot(for: edit.key.span.bytes, in: view, from: slot)
                let isPresent = try slot < slotCount && tree.compare(edit.key.span.bytes, with: view, slot) == 0
                found[index] = (before + slot, isPresent)
                switch edit.change {
                case .insert where !isPresent, .remove where isPresent: changes.append((index, slot, .empty))
                case .setWeight(let weight) where isPresent:
                    if try view.measure(of: view.cell(at: slot)).weight != weight {
                        changes.append((index, slot, .empty))
                    }
                case .insert, .remove, .setWeight, .find: break
                }
            }
            guard before + slot <= tree.count else {
                throw TreeError.corrupted(node: node, "its counts exceed the tree's")
            }
        }
        if changes.isEmpty { return .unchanged }
        var isAppended = true
        for index in changes.indices {
            guard case .insert = edits[changes[index].edit].change else { continue }
            let key = edits[changes[index].edit].key
            changes[index].key = try store.storedForm(of: key.span.bytes)
            isAppended = isAppended && changes[index].slot == slotCount
        }

        var writer = NodeWriter(level: 0, isWeighted: isWeighted)
        var measure = measure
        var freed: [NodeNumber] = []
        try read(node, level: 0) { view in
            writer.reserve(for: view, adding: changes.count)
            var next = 0
            for (edit, slot, key) in changes {
                try writer.append(next..<slot, of: view)
                next = slot
                switch edits[edit].change {
                case .insert(let weight):
                    writer.appendLeafCell(key, weight: weight)
                    measure += Measure(count: 1, weight: weight)
                case .remove:
                    let cell = try view.cell(at: slot)
                    measure -= try view.measure(of: cell)
                    freed += try store.restNodes(of: cell, in: view)
                    next += 1
                case .setWeight(let weight):
                    measure.weight += weight - (try view.measure(of: view.cell(at: slot)).weight)
                    writer.appendLeafCell(try view.storedKey(at: slot), weight: weight)
                    next += 1
                case .find: break
                }
            }
            try writer.append(next..<view.slotCount, of: view)
        }
        for node in freed { try store.free(node) }
        return try finish(writer, of: node, level: 0, measure, fillsNodes: isAppended)
    }

    /// A child that edits reach, and what became of it.
    private struct EditedChild {
        let slot: Int
        let node: NodeNumber
        let measure: Measure
        let edits: Range<Int>
        /// The entries before it in the tree.
        let before: Int
        var outcome = Outcome.unchanged
    }

    private mutating func editBranch(
        _ some: Range<Int>, _ node: NodeNumber, level: Int, _ before: Int, _ measure: Measure
    ) throws -> Outcome {
        var children = try children(of: node, level: level, reachedBy: some, before)
        var measure = measure
        var isChanged = false
        var keepsChildren = true
        var sparse: [NodeNumber] = []
        for index in children.indices {
            let child = children[index]
            let outcome = try edit(child.edits, of: child.node, level: level - 1, child.before, child.measure)
            children[index].outcome = outcome
            switch outcome {
            case .unchanged: continue
            case .changed(let now, let isSparse):
                measure += now
                if isSparse { sparse.append(child.node) }
            case .emptied: keepsChildren = false
            case .split(let pieces):
                for piece in pieces { measure += piece.measure }
                keepsChildren = false
            }
            measure -= child.measure
            isChanged = true
        }
        if !isChanged { return .unchanged }
        let outcome =
            keepsChildren
            ? try patch(node, level: level, children, measure)
            : try rewrite(node, level: level, children, measure)
        return sparse.isEmpty ? outcome : try merge(sparse, below: node, level: level, outcome)
    }

    /// The children that edits reach, in order.
    private func children(
        of node: NodeNumber, level: Int, reachedBy some: Range<Int>, _ before: Int
    ) throws -> [EditedChild] {
        var children: [EditedChild] = []
        let (tree, edits) = (tree, edits)
        try tree.read(node, level: level) { view in
            var sum = before
            var counted = 0
            var index = some.lowerBound
            while index < some.upperBound {
                let firstKey = edits[index].key
                let slot = try tree.childSlot(for: firstKey.span.bytes, in: view)
                let first = index
                index += 1
                while index < some.upperBound {
                    let key = edits[index].key
                    if slot + 1 < view.slotCount, try tree.compare(key.span.bytes, with: view, slot + 1) >= 0 { break }
                    index += 1
                }
                // Damaged separators that do not ascend could lead back.
                guard slot >= counted else { throw TreeError.corrupted(node: node, "its keys are out of order") }
                sum += try view.measure(of: counted..<slot).count
                counted = slot
                let cell = try view.cell(at: slot)
                children.append(
                    EditedChild(
                        slot: slot, node: view.child(of: cell), measure: try view.measure(of: cell),
                        edits: first..<index, before: sum))
            }
        }
        return children
    }

    /// Changes the measures of children that stayed where they are.
    private func patch(
        _ node: NodeNumber, level: Int, _ children: [EditedChild], _ measure: Measure
    ) throws -> Outcome {
        var bytes: [UInt8] = []
        try read(node, level: level) { view in
            bytes.reserveCapacity(view.bytes.byteCount + 8)
            bytes.append(contentsOf: view.bytes)
            for child in children {
                guard case .changed(let now, _) = child.outcome else { continue }
                let offset = try view.cell(at: child.slot).range.lowerBound + 8
                bytes.replaceLittleEndian(UInt64(truncatingIfNeeded: now.count), at: offset)
                if isWeighted { bytes.replaceLittleEndian(UInt64(truncatingIfNeeded: now.weight), at: offset + 8) }
            }
        }
        let isSparse = bytes.count < store.capacity / 4
        try store.write(node, bytes)
        return .changed(measure, isSparse: isSparse)
    }

    /// Writes a branch whose children were emptied or split.
    private func rewrite(
        _ node: NodeNumber, level: Int, _ children: [EditedChild], _ measure: Measure
    ) throws -> Outcome {
        var branch = BranchInTheMaking(writer: NodeWriter(level: level, isWeighted: isWeighted), store: store)
        var isAppended = true
        try read(node, level: level) { view in
            var next = 0
            for child in children {
                try branch.append(next..<child.slot, of: view)
                next = child.slot + 1
                switch child.outcome {
                case .unchanged: try branch.append(child.node, child.measure, at: child.slot, of: view)
                case .changed(let now, _): try branch.append(child.node, now, at: child.slot, of: view)
                case .emptied: try branch.drop(child.slot, of: view)
                case .split(let pieces):
                    isAppended = isAppended && next == view.slotCount
                    try branch.append(pieces[0].node, pieces[0].measure, at: child.slot, of: view)
                    for piece in pieces.dropFirst() {
                        branch.writer.appendBranchCell(child: piece.node, piece.measure, piece.separator)
                    }
                }
            }
            try branch.append(next..<view.slotCount, of: view)
        }
        for node in branch.freed { try store.free(node) }
        return try finish(branch.writer, of: node, level: level, measure, fillsNodes: isAppended)
    }

    // MARK: Writing and cutting

    /// Writes a node's new cells: into it, into it and new ones when they are too many, or nowhere.
    private func finish(
        _ writer: NodeWriter, of node: NodeNumber, level: Int, _ measure: Measure, fillsNodes: Bool
    ) throws -> Outcome {
        if writer.slotCount == 0 {
            try store.free(node)
            return .emptied
        }
        if writer.byteCount <= store.capacity {
            try store.write(node, writer.node())
            return .changed(measure, isSparse: writer.byteCount < store.capacity / 4)
        }
        var pieces: [Piece] = []
        var last: [UInt8] = []
        for slots in writer.cuts(capacity: store.capacity, fillsNodes: fillsNodes) {
            var bytes = writer.node(slots)
            var separator = StoredKey.empty
            if !pieces.isEmpty {
                if level == 0 {
                    separator = try self.separator(between: last, and: bytes, of: node)
                } else {
                    (separator, bytes) = try takeFirstSeparator(of: bytes, node, level: level)
                }
            }
            let measure = try self.measure(of: bytes, node, level: level)
            let number = pieces.isEmpty ? node : try store.allocate()
            if level == 0 { last = bytes }
            try store.write(number, bytes)
            pieces.append(Piece(node: number, measure: measure, separator: separator))
        }
        return .split(pieces)
    }

    /// A branch's first separator moves up when it is split off: nothing below it is less.
    private func takeFirstSeparator(
        of bytes: [UInt8], _ node: NodeNumber, level: Int
    ) throws -> (StoredKey, remaining: [UInt8]) {
        let view = try NodeView(bytes.span.bytes, node: node, level: level, isWeighted: isWeighted)
        let first = try view.cell(at: 0)
        var writer = NodeWriter(level: level, isWeighted: isWeighted)
        writer.appendBranchCell(child: view.child(of: first), try view.measure(of: first), .empty)
        try writer.append(1..<view.slotCount, of: view)
        return (try view.storedKey(at: 0), writer.node())
    }

    private func measure(of bytes: [UInt8], _ node: NodeNumber, level: Int) throws -> Measure {
        let view = try NodeView(bytes.span.bytes, node: node, level: level, isWeighted: isWeighted)
        return try view.measure(of: 0..<view.slotCount)
    }

    /// The shortest key that divides two leaves: a prefix of the upper one's first key.
    private func separator(between lower: [UInt8], and upper: [UInt8], of node: NodeNumber) throws -> StoredKey {
        let lowerView = try NodeView(lower.span.bytes, node: node, level: 0, isWeighted: isWeighted)
        let upperView = try NodeView(upper.span.bytes, node: node, level: 0, isWeighted: isWeighted)
        var last: [UInt8] = []
        var first: [UInt8] = []
        try tree.handOut(lowerView.slotCount - 1, of: lowerView) { key, _ in last = [UInt8](key) }
        try tree.handOut(0, of: upperView) { key, _ in first = [UInt8](key) }
        let key = first.span.bytes
        return try store.storedForm(of: key.extracting(first: key.commonPrefixLength(last.span.bytes) + 1))
    }

    // MARK: Merging

    /// Merges sparse children with neighbours that they fit with.
    private func merge(
        _ sparse: [NodeNumber], below node: NodeNumber, level: Int, _ outcome: Outcome
    ) throws -> Outcome {
        switch outcome {
        case .unchanged, .emptied: return outcome
        case .split(let pieces):
            for piece in pieces { _ = try merge(sparse, in: piece.node, level: level) }
            return outcome
        case .changed(let measure, let isSparse):
            let byteCount = try merge(sparse, in: node, level: level)
            return .changed(measure, isSparse: byteCount.map { $0 < store.capacity / 4 } ?? isSparse)
        }
    }

    /// Returns the bytes of the branch now, if children of it were merged.
    private func merge(_ sparse: [NodeNumber], in node: NodeNumber, level: Int) throws -> Int? {
        var slots: [Int] = []
        var slotCount = 0
        let wanted = Set(sparse)
        try read(node, level: level) { view in
            slotCount = view.slotCount
            for slot in 0..<slotCount where wanted.contains(view.child(of: try view.cell(at: slot))) {
                slots.append(slot)
            }
        }
        var byteCount: Int?
        // From the last: a merge shifts the slots above.
        for slot in slots.reversed() {
            var merged = slot + 1 < slotCount ? try mergeChildren(slot, of: node, level: level) : nil
            if merged == nil, slot > 0 { merged = try mergeChildren(slot - 1, of: node, level: level) }
            if let merged {
                byteCount = merged
                slotCount -= 1
            }
        }
        return byteCount
    }

    /// Merges the children at a slot and the next, if they fit into one node. Returns the bytes of their parent then.
    private func mergeChildren(_ slot: Int, of node: NodeNumber, level: Int) throws -> Int? {
        var children: (lower: NodeNumber, upper: NodeNumber) = (0, 0)
        var separator = StoredKey.empty
        var rest: [NodeNumber] = []
        var parent = NodeWriter(level: level, isWeighted: isWeighted)
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
        var merged = NodeWriter(level: level - 1, isWeighted: isWeighted)
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
        guard fits else { return nil }
        try store.write(children.lower, merged.node())
        try store.free(children.upper)
        for node in rest { try store.free(node) }
        try store.write(node, parent.node())
        return parent.byteCount
    }
}

/// A branch that is rewritten from its old cells. The first child's separator is empty, whichever is the first now.
private struct BranchInTheMaking {
    var writer: NodeWriter
    let store: any NodeStore
    /// The rests of long separators that are no longer needed.
    private(set) var freed: [NodeNumber] = []

    init(writer: NodeWriter, store: any NodeStore) {
        self.writer = writer
        self.store = store
    }

    /// Adds a child with the separator that a slot has.
    mutating func append(_ child: NodeNumber, _ measure: Measure, at slot: Int, of view: NodeView) throws {
        if writer.slotCount == 0 {
            try drop(slot, of: view)
            writer.appendBranchCell(child: child, measure, .empty)
        } else {
            writer.appendBranchCell(child: child, measure, try view.storedKey(at: slot))
        }
    }

    /// Adds children as they are.
    mutating func append(_ slots: Range<Int>, of view: NodeView) throws {
        var slots = slots
        if writer.slotCount == 0, let first = slots.first {
            let cell = try view.cell(at: first)
            try append(view.child(of: cell), try view.measure(of: cell), at: first, of: view)
            slots = slots.dropFirst()
        }
        try writer.append(slots, of: view)
    }

    /// Leaves out a slot's separator.
    mutating func drop(_ slot: Int, of view: NodeView) throws {
        freed += try store.restNodes(of: view.cell(at: slot), in: view)
    }
}

extension NodeView {
    /// A slot's key as its cell holds it.
    fileprivate func storedKey(at slot: Int) throws(TreeError) -> StoredKey {
        let cell = try cell(at: slot)
        return StoredKey(bytes: [UInt8](bytes.extracting(cell.keyRange)), isLong: cell.hasLongKey)
    }
}
