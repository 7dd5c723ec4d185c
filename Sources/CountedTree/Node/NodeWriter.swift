internal import Bytes
/// Assembles nodes from cells of other nodes or new ones. Keys stand in it whole; the finished bytes of a leaf have their
/// common beginning once.
struct NodeWriter {
    private let level: Int
    private let form: CellForm
    private let fixedLength: Int
    private var ends: [UInt32] = []
    private var cells: [UInt8] = []
    /// How many bytes all keys of a leaf have in common at their start.
    private var prefixLength = 0
    /// In the ends here, which may be too many for a node.
    private static let longKeyMark: UInt32 = 1 << 31

    init(level: Int, _ form: CellForm) {
        self.level = level
        self.form = form
        fixedLength = NodeLayout.fixedLength(isLeaf: level == 0, form)
    }

    var slotCount: Int { ends.count }
    var byteCount: Int { Self.byteCount(slotCount, cells.count, prefixLength) }

    /// The bytes of a node with a prefix of so many cells with whole keys.
    private static func byteCount(_ slotCount: Int, _ cellBytes: Int, _ prefixLength: Int) -> Int {
        NodeLayout.headerLength + 2 * slotCount + cellBytes - max(0, slotCount - 1) * prefixLength
    }

    /// The bytes that the node would have with another cell of this key and a summary of so many bytes.
    func byteCount(adding key: StoredKey, summaryLength: Int) -> Int {
        let prefix = prefixLength(with: key.bytes.span.bytes.extracting(first: key.inlineCount))
        return Self.byteCount(slotCount + 1, cells.count + fixedLength + summaryLength + key.bytes.count, prefix)
    }

    // MARK: Adding cells

    mutating func append(_ slots: Range<Int>, of view: NodeView) throws {
        for slot in slots {
            let cell = try view.cell(at: slot)
            cells.appendBytes(view.bytes.extracting(cell.range.lowerBound..<cell.suffixRange.lowerBound))
            let start = cells.count
            cells.appendBytes(view.prefix)
            cells.appendBytes(view.bytes.extracting(cell.suffixRange))
            endCell(keyStart: start, isLong: cell.hasLongKey)
        }
    }

    /// Adds a leaf's cells with changes in the order of their slots.
    mutating func append(_ view: NodeView, _ changes: [CellChange]) throws {
        ends.reserveCapacity(view.slotCount + changes.count)
        cells.reserveCapacity(view.bytes.byteCount + view.slotCount * view.prefixLength + 64 * changes.count)
        var next = 0
        for change in changes {
            try append(next..<change.slot, of: view)
            if let key = change.key { appendLeafCell(key, weight: change.weight, change.summary.span.bytes) }
            next = change.slot + (change.drops ? 1 : 0)
        }
        try append(next..<view.slotCount, of: view)
    }

    mutating func appendLeafCell(_ key: StoredKey, weight: Int, _ summary: RawSpan) {
        append(weight: weight, summary)
        appendKey(key)
    }

    mutating func appendBranchCell(child: NodeNumber, _ measure: Measure, _ summary: RawSpan, _ key: StoredKey) {
        cells.appendNumber(child)
        cells.appendNumber(UInt64(truncatingIfNeeded: measure.count))
        append(weight: measure.weight, summary)
        appendKey(key)
    }

    private mutating func append(weight: Int, _ summary: RawSpan) {
        if form.isWeighted { cells.appendNumber(UInt64(truncatingIfNeeded: weight)) }
        if form.hasSummaries {
            cells.appendNumber(UInt16(truncatingIfNeeded: summary.byteCount))
            cells.appendBytes(summary)
        }
    }

    private mutating func appendKey(_ key: StoredKey) {
        let start = cells.count
        cells.append(contentsOf: key.bytes)
        endCell(keyStart: start, isLong: key.isLong)
    }

    private mutating func endCell(keyStart: Int, isLong: Bool) {
        let inlineEnd = cells.count - (isLong ? NodeLayout.longKeyReferenceLength : 0)
        prefixLength = prefixLength(with: cells.span.bytes.extracting(keyStart..<inlineEnd))
        ends.append(UInt32(cells.count) | (isLong ? Self.longKeyMark : 0))
    }

    /// What the keys so far have in common with another one.
    private func prefixLength(with key: RawSpan) -> Int {
        if level > 0 { return 0 }
        if ends.isEmpty { return key.byteCount }
        return key.commonPrefixLength(cells.span.bytes.extracting(keyStart(of: 0)..<keyStart(of: 0) + prefixLength))
    }

    // MARK: Finished nodes

    /// The finished bytes of a node of all cells.
    func node() -> [UInt8] { node(0..<slotCount, prefixLength: prefixLength) }

    /// The finished bytes of a node of some of the cells, given how many bytes their keys have in common at the start.
    func node(_ slots: Range<Int>, prefixLength: Int) -> [UInt8] {
        let byteCount = Self.byteCount(
            slots.count, self.end(of: slots.upperBound - 1) - start(of: slots.lowerBound), prefixLength)
        return [UInt8](unsafeUninitializedCapacity: byteCount) { node, count in
            count = byteCount
            let node = UnsafeMutableRawBufferPointer(node)
            node[0] = NodeLayout.kind(level: level, form).rawValue
            node[1] = UInt8(level)
            node.storeBytes(of: UInt16(slots.count).littleEndian, toByteOffset: 2, as: UInt16.self)
            node.storeBytes(
                of: UInt16(prefixLength).littleEndian, toByteOffset: NodeLayout.prefixLengthOffset, as: UInt16.self)
            cells.withUnsafeBytes { cells in
                var offset = NodeLayout.headerLength + 2 * slots.count
                func copy(_ bytes: Range<Int>) {
                    UnsafeMutableRawBufferPointer(rebasing: node[offset..<offset + bytes.count]).copyMemory(
                        from: UnsafeRawBufferPointer(rebasing: cells[bytes]))
                    offset += bytes.count
                }
                let first = keyStart(of: slots.lowerBound)
                copy(first..<first + prefixLength)
                let cellsStart = offset
                for (index, slot) in slots.enumerated() {
                    let keyStart = keyStart(of: slot)
                    copy(start(of: slot)..<keyStart)
                    copy(keyStart + prefixLength..<end(of: slot))
                    let mark = ends[slot] & Self.longKeyMark == 0 ? 0 : NodeLayout.longKeyMark
                    let end = UInt16(offset - cellsStart) | mark
                    node.storeBytes(
                        of: end.littleEndian, toByteOffset: NodeLayout.headerLength + 2 * index, as: UInt16.self)
                }
            }
        }
    }

    /// Some of the cells, which fit into one node.
    struct Cut {
        var slots: Range<Int>
        var prefixLength: Int
    }

    /// How to split cells that do not fit into one node: into full nodes when all were added at the end, so that ascending
    /// keys leave full nodes; otherwise into nodes of equal size.
    func cuts(capacity: Int, fillsNodes: Bool) -> [Cut] {
        let full = cuts(capacity: capacity, wanted: .max)
        if fillsNodes { return full }
        // With whole keys: the bytes of a part depend on the prefix that it gets. One key without the others' common beginning
        // makes its part so large that equal parts would be more.
        let equal = cuts(capacity: capacity, wanted: cells.count / full.count)
        return equal.count > full.count ? full : equal
    }

    /// Parts that fit into a node, and end when they have so many bytes with whole keys.
    private func cuts(capacity: Int, wanted: Int) -> [Cut] {
        var cuts: [Cut] = []
        var cut = Cut(slots: 0..<1, prefixLength: inlineKey(of: 0).count)
        for slot in 1..<slotCount {
            let start = start(of: cut.slots.lowerBound)
            let prefix = level > 0 ? 0 : commonPrefix(cut, and: slot)
            let byteCount = Self.byteCount(cut.slots.count + 1, end(of: slot) - start, prefix)
            if end(of: slot - 1) - start >= wanted || byteCount > capacity {
                cuts.append(cut)
                cut = Cut(slots: slot..<slot + 1, prefixLength: inlineKey(of: slot).count)
            } else {
                cut = Cut(slots: cut.slots.lowerBound..<slot + 1, prefixLength: prefix)
            }
        }
        return cuts + [cut]
    }

    private func commonPrefix(_ cut: Cut, and slot: Int) -> Int {
        let keyStart = keyStart(of: cut.slots.lowerBound)
        let key = cells.span.bytes.extracting(inlineKey(of: slot))
        return key.commonPrefixLength(cells.span.bytes.extracting(keyStart..<keyStart + cut.prefixLength))
    }

    /// Where the key of a leaf's slot stands; of a branch's, nothing that a prefix could be of.
    private func inlineKey(of slot: Int) -> Range<Int> {
        let start = keyStart(of: slot)
        if level > 0 { return start..<start }
        return start..<end(of: slot) - (ends[slot] & Self.longKeyMark == 0 ? 0 : NodeLayout.longKeyReferenceLength)
    }

    private func keyStart(of slot: Int) -> Int {
        let start = start(of: slot) + fixedLength
        if !form.hasSummaries { return start }
        let length = cells.span.bytes.unsafeLoadUnaligned(
            fromByteOffset: start - NodeLayout.summaryLengthLength, as: UInt16.self)
        return start + Int(UInt16(littleEndian: length))
    }

    private func start(of slot: Int) -> Int { slot == 0 ? 0 : end(of: slot - 1) }
    private func end(of slot: Int) -> Int { Int(ends[slot] & ~Self.longKeyMark) }

    mutating func removeAll() {
        ends.removeAll(keepingCapacity: true)
        cells.removeAll(keepingCapacity: true)
        prefixLength = 0
    }
}
