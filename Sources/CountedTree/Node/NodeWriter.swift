internal import FetchIndexPlatform
/// Assembles nodes from new cells and from cells of other nodes. Holds whole keys in their stored form. In the bytes of
/// a finished node, each key lacks the prefix that it shares with its base (`NodeLayout`), and a branch's first key is
/// left out.
struct NodeWriter {
    private let level: Int
    private let form: CellForm
    private let fixedLength: Int
    private var cells: [UInt8] = []
    private var slots: [Slot] = []
    /// The size of a single node with all cells.
    private var size: Size

    private struct Slot {
        let end: Int
        let keyStart: Int
        /// The length of the prefix that the slot's key shares with the key before it.
        let sharedWithBefore: Int
        let hasLongKey: Bool
    }

    /// The size of a node with some of the cells.
    private struct Size {
        private let firstKeySlot: Int
        private var slotCount = 0
        private var shared = SharedLengths()
        private(set) var byteCount = NodeLayout.headerLength

        init(level: Int) { firstKeySlot = NodeLayout.firstKeySlot(isLeaf: level == 0) }

        /// The node's length with another cell. `headLength` is the length of the cell's part before its key.
        func byteCount(adding headLength: Int, keyLength: Int, sharedWithBefore: Int) -> Int {
            byteCount + cellLength(headLength, keyLength, shared: shared.next(sharedWithBefore))
        }

        mutating func add(_ headLength: Int, keyLength: Int, sharedWithBefore: Int) {
            let length = slotCount < firstKeySlot ? 0 : shared.append(sharedWithBefore)
            byteCount += cellLength(headLength, keyLength, shared: length)
            slotCount += 1
        }

        /// The length of a cell, including the two bytes of its end.
        private func cellLength(_ headLength: Int, _ keyLength: Int, shared: Int) -> Int {
            let keyLength = slotCount < firstKeySlot ? 0 : keyLength
            return 2 + headLength + NodeLayout.fieldLength(ofShared: shared) + keyLength - shared
        }
    }

    init(level: Int, _ form: CellForm) {
        self.level = level
        self.form = form
        fixedLength = NodeLayout.fixedLength(isLeaf: level == 0, form)
        size = Size(level: level)
    }

    var slotCount: Int { slots.count }
    var byteCount: Int { size.byteCount }

    /// The last slot's key; for a long key, the bytes in its cell. Empty if no cell was added.
    private var lastKey: RawSpan {
        @_lifetime(borrow self)
        borrowing get {
            guard let slot = slots.last else { return RawSpan() }
            let end = slot.end - (slot.hasLongKey ? NodeLayout.longKeyReferenceLength : 0)
            return cells.span.bytes.extracting(slot.keyStart..<end)
        }
    }

    /// The length of the node with another cell that has this key and a summary of this length.
    func byteCount(adding key: StoredKey, summaryLength: Int) -> Int {
        let shared = lastKey.commonPrefixLength(key.bytes.span.bytes.extracting(first: key.inlineCount))
        return size.byteCount(
            adding: fixedLength + summaryLength, keyLength: key.bytes.count, sharedWithBefore: shared)
    }

    /// Whether a cell with this key and a summary of this length would make the node longer than
    /// `NodeLayout.filledLength`, so that the cell belongs in the next node. For nodes that are filled with ascending
    /// keys.
    func isFilled(before key: StoredKey, summaryLength: Int, capacity: Int) -> Bool {
        byteCount(adding: key, summaryLength: summaryLength)
            > NodeLayout.filledLength(behind: slotCount, capacity: capacity)
    }

    // MARK: Adding cells

    mutating func append(_ slots: Range<Int>, of view: NodeView) throws {
        var key: [UInt8] = []
        for slot in slots {
            let cell = try view.cell(at: slot)
            let shared: Int
            if slot == slots.lowerBound {
                key = try view.inlineKey(of: cell)
                shared = lastKey.commonPrefixLength(key.span.bytes)
            } else {
                let start = min(cell.sharedLength, key.count)
                shared =
                    start
                    + view.inlineRest(of: cell).commonPrefixLength(key.span.bytes.extracting(start..<key.count))
                try view.advance(&key, to: cell)
            }
            cells.appendBytes(view.bytes.extracting(cell.range.lowerBound..<cell.keyStart))
            let start = cells.count
            cells.append(contentsOf: key)
            cells.appendBytes(view.bytes.extracting(cell.inlineEnd..<cell.range.upperBound))
            endCell(keyStart: start, sharedWithBefore: shared, isLong: cell.hasLongKey)
        }
    }

    /// Adds a leaf's cells with changes, which must be in the order of their slots.
    mutating func append(_ view: NodeView, _ changes: [CellChange]) throws {
        slots.reserveCapacity(view.slotCount + changes.count)
        var next = 0
        for change in changes {
            guard next <= change.slot else { throw view.outOfOrder }
            try append(next..<change.slot, of: view)
            if let key = change.key { appendLeafCell(key, weight: change.weight, change.summary.span.bytes) }
            next = change.slot + (change.drops ? 1 : 0)
        }
        try append(next..<view.slotCount, of: view)
    }

    mutating func appendLeafCell(_ key: StoredKey, weight: Int, _ summary: RawSpan) {
        append(weight: weight, summary)
        appendKey(key.bytes.span.bytes, isLong: key.isLong)
    }

    mutating func appendBranchCell(child: NodeNumber, _ measure: Measure, _ summary: RawSpan, _ key: StoredKey) {
        cells.appendNumber(child)
        cells.appendNumber(UInt64(truncatingIfNeeded: measure.count))
        append(weight: measure.weight, summary)
        appendKey(key.bytes.span.bytes, isLong: key.isLong)
    }

    private mutating func append(weight: Int, _ summary: RawSpan) {
        if form.isWeighted { cells.appendNumber(UInt64(truncatingIfNeeded: weight)) }
        if form.hasSummaries {
            cells.appendNumber(UInt16(truncatingIfNeeded: summary.byteCount))
            cells.appendBytes(summary)
        }
    }

    private mutating func appendKey(_ key: RawSpan, isLong: Bool) {
        let inline = key.extracting(first: key.byteCount - (isLong ? NodeLayout.longKeyReferenceLength : 0))
        let shared = lastKey.commonPrefixLength(inline)
        let start = cells.count
        cells.appendBytes(key)
        endCell(keyStart: start, sharedWithBefore: shared, isLong: isLong)
    }

    private mutating func endCell(keyStart: Int, sharedWithBefore shared: Int, isLong: Bool) {
        let start = slots.last?.end ?? 0
        size.add(keyStart - start, keyLength: cells.count - keyStart, sharedWithBefore: shared)
        slots.append(Slot(end: cells.count, keyStart: keyStart, sharedWithBefore: shared, hasLongKey: isLong))
    }

    // MARK: Finished nodes

    /// The bytes of a single node with all cells.
    func node() -> [UInt8] { node(Cut(slots: slots.indices, byteCount: byteCount)) }

    /// The bytes of a node with some of the cells.
    func node(_ cut: Cut) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: cut.byteCount) { node, count in
            count = cut.byteCount
            let node = UnsafeMutableRawBufferPointer(node)
            NodeLayout.writeHeader(level: level, form, slotCount: cut.slots.count, to: node)
            let firstKey = cut.slots.lowerBound + NodeLayout.firstKeySlot(isLeaf: level == 0)
            var shared = SharedLengths()
            cells.withUnsafeBytes { cells in
                let cellsStart = NodeLayout.headerLength + 2 * cut.slots.count
                var output = ByteOutput(node.baseAddress.unsafelyUnwrapped, from: cellsStart)
                for (index, number) in cut.slots.enumerated() {
                    let slot = slots[number]
                    output.append(UnsafeRawBufferPointer(rebasing: cells[start(of: number)..<slot.keyStart]))
                    let length = number < firstKey ? 0 : shared.append(slot.sharedWithBefore)
                    output.append(shared: length)
                    if number >= firstKey {
                        output.append(UnsafeRawBufferPointer(rebasing: cells[slot.keyStart + length..<slot.end]))
                    }
                    let mark = slot.hasLongKey && number >= firstKey ? NodeLayout.longKeyMark : 0
                    let end = UInt16(output.offset - cellsStart) | mark
                    node.storeBytes(
                        of: end.littleEndian, toByteOffset: NodeLayout.headerLength + 2 * index, as: UInt16.self)
                }
                precondition(
                    output.offset == cut.byteCount, "A finished node must have the length that was computed for it.")
            }
        }
    }

    /// A cell's key in its stored form.
    func storedKey(at slot: Int) -> StoredKey {
        StoredKey(bytes: Array(cells[slots[slot].keyStart..<slots[slot].end]), isLong: slots[slot].hasLongKey)
    }

    /// A range of cells for one node, and the length of that node in bytes.
    struct Cut {
        var slots: Range<Int>
        var byteCount: Int
    }

    /// Divides cells that don't fit into one node. If `fillsNodes`, fills one node after the other, which suits keys
    /// that were only added at the end; otherwise makes nodes of about equal length, unless full nodes would be fewer.
    func cuts(capacity: Int, fillsNodes: Bool) -> [Cut] {
        if fillsNodes { return cuts(wanted: .max) { NodeLayout.filledLength(behind: $0, capacity: capacity) } }
        let full = cuts(wanted: .max) { _ in capacity }
        // A division into nodes of equal length may need more nodes than one into full nodes: keys share prefixes only
        // within a node, so the bytes of all nodes together depend on the cuts.
        let equal = cuts(wanted: byteCount / full.count) { _ in capacity }
        return equal.count > full.count ? full : equal
    }

    /// Divides the cells: a node ends when it has at least `wanted` bytes, or when another cell would make it longer
    /// than `most` bytes. `most` is called with the number of slots that the node has without this cell.
    private func cuts(wanted: Int, most: (_ slotCount: Int) -> Int) -> [Cut] {
        var cuts: [Cut] = []
        var first = 0
        var size = Size(level: level)
        for number in slots.indices {
            let slot = slots[number]
            let (head, key) = (slot.keyStart - start(of: number), slot.end - slot.keyStart)
            let grown = size.byteCount(adding: head, keyLength: key, sharedWithBefore: slot.sharedWithBefore)
            if number > first, size.byteCount >= wanted || grown > most(number - first) {
                cuts.append(Cut(slots: first..<number, byteCount: size.byteCount))
                first = number
                size = Size(level: level)
            }
            size.add(head, keyLength: key, sharedWithBefore: slot.sharedWithBefore)
        }
        return cuts + [Cut(slots: first..<slotCount, byteCount: size.byteCount)]
    }

    private func start(of slot: Int) -> Int { slot == 0 ? 0 : slots[slot - 1].end }

    mutating func removeAll() {
        slots.removeAll(keepingCapacity: true)
        cells.removeAll(keepingCapacity: true)
        size = Size(level: level)
    }
}
