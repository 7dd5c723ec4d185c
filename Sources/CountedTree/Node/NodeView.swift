internal import Bytes
/// A node's bytes, read in place. Every offset is checked before it is used.
struct NodeView: ~Escapable {
    /// Up to the end of the last cell, without a store's padding.
    let bytes: RawSpan
    let node: NodeNumber
    let slotCount: Int
    let prefixLength: Int
    /// What precedes a cell's summary, or its key where there are no summaries.
    private let fixedLength: Int
    let isLeaf: Bool
    let form: CellForm

    /// Where a cell's parts are.
    struct Cell {
        /// The whole cell, in the node's bytes.
        let range: Range<Int>
        /// The key without the leaf's prefix, or a long key's first bytes without it and its reference.
        let suffixRange: Range<Int>
        let hasLongKey: Bool
    }

    @_lifetime(copy bytes)
    init(_ bytes: RawSpan, node: NodeNumber, level: Int, _ form: CellForm) throws(TreeError) {
        guard bytes.byteCount >= NodeLayout.headerLength else {
            throw TreeError.corrupted(node: node, "\(bytes.byteCount) bytes are too few for a node")
        }
        let kind = NodeLayout.kind(level: level, form)
        guard bytes.unsafeLoad(as: UInt8.self) == kind.rawValue,
            bytes.unsafeLoad(fromByteOffset: 1, as: UInt8.self) == level
        else { throw TreeError.corrupted(node: node, "it is not a \(kind) of level \(level)") }
        self.node = node
        self.isLeaf = level == 0
        self.form = form
        self.slotCount = Int(UInt16(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: 2, as: UInt16.self)))
        self.fixedLength = NodeLayout.fixedLength(isLeaf: level == 0, form)
        self.prefixLength = Int(
            UInt16(
                littleEndian: bytes.unsafeLoadUnaligned(
                    fromByteOffset: NodeLayout.prefixLengthOffset, as: UInt16.self)))
        let endsEnd = NodeLayout.headerLength + 2 * slotCount
        let cellsStart = endsEnd + prefixLength
        guard slotCount > 0, cellsStart <= bytes.byteCount, level == 0 || prefixLength == 0 else {
            throw TreeError.corrupted(
                node: node,
                "\(slotCount) slots and a prefix of \(prefixLength) do not fit its \(bytes.byteCount) bytes")
        }
        let lastEnd = UInt16(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: endsEnd - 2, as: UInt16.self))
        let end = cellsStart + Int(lastEnd & ~NodeLayout.longKeyMark)
        guard end <= bytes.byteCount else {
            throw TreeError.corrupted(node: node, "slot \(slotCount - 1) reaches outside of it")
        }
        self.bytes = bytes.extracting(first: end)
    }

    var cellsStart: Int { NodeLayout.headerLength + 2 * slotCount + prefixLength }

    /// What all keys of a leaf begin with.
    var prefix: RawSpan {
        @_lifetime(copy self)
        get { bytes.extracting(cellsStart - prefixLength..<cellsStart) }
    }

    /// The end of a slot's cell from `cellsStart`, with the long key mark. The slot is in range.
    func rawEnd(of slot: Int) -> UInt16 {
        UInt16(
            littleEndian: bytes.unsafeLoadUnaligned(
                fromByteOffset: NodeLayout.headerLength + 2 * slot, as: UInt16.self))
    }

    func cell(at slot: Int) throws(TreeError) -> Cell {
        let start = slot == 0 ? 0 : Int(rawEnd(of: slot - 1) & ~NodeLayout.longKeyMark)
        let rawEnd = rawEnd(of: slot)
        let end = Int(rawEnd & ~NodeLayout.longKeyMark)
        let hasLongKey = rawEnd & NodeLayout.longKeyMark != 0
        var keyStart = start + fixedLength
        guard keyStart <= end, cellsStart + end <= bytes.byteCount else {
            throw TreeError.corrupted(node: node, "slot \(slot) reaches outside of it")
        }
        if form.hasSummaries { keyStart += summaryLength(before: cellsStart + keyStart) }
        guard keyStart + (hasLongKey ? NodeLayout.longKeyReferenceLength : 0) <= end else {
            throw TreeError.corrupted(node: node, "slot \(slot) reaches outside of it")
        }
        return Cell(
            range: cellsStart + start..<cellsStart + end,
            suffixRange: cellsStart + keyStart..<cellsStart + end, hasLongKey: hasLongKey)
    }

    private func summaryLength(before offset: Int) -> Int {
        let start = offset - NodeLayout.summaryLengthLength
        return Int(UInt16(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: start, as: UInt16.self)))
    }

    /// Where a cell's summary stands; empty in a tree without summaries.
    func summaryRange(of cell: Cell) -> Range<Int> {
        cell.range.lowerBound + fixedLength..<cell.suffixRange.lowerBound
    }

    /// A cell's summary; empty in a tree without summaries.
    @_lifetime(copy self)
    func summary(of cell: Cell) -> RawSpan { bytes.extracting(summaryRange(of: cell)) }

    /// What follows the prefix in a key, as far as it is in the cell: all of it, or the first bytes of a long key.
    @_lifetime(copy self)
    func inlineSuffix(of cell: Cell) -> RawSpan {
        let end = cell.suffixRange.upperBound - (cell.hasLongKey ? NodeLayout.longKeyReferenceLength : 0)
        return bytes.extracting(cell.suffixRange.lowerBound..<end)
    }

    /// The bytes of a key that are in the node: all of it, or the first bytes of a long key.
    func inlineKey(of cell: Cell) -> [UInt8] { joined(with: inlineSuffix(of: cell)) }

    /// The same for the time of a call, without an allocation for most keys.
    func withInlineKey(of cell: Cell, _ body: (RawSpan) throws -> Void) throws {
        let suffix = inlineSuffix(of: cell)
        if prefixLength == 0 { return try body(suffix) }
        let length = prefixLength + suffix.byteCount
        try withUnsafeTemporaryAllocation(byteCount: length, alignment: 1) { key in
            prefix.withUnsafeBytes { key.copyMemory(from: $0) }
            suffix.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: key[prefixLength...]).copyMemory(from: $0)
            }
            try body(UnsafeRawBufferPointer(key).bytes)
        }
    }

    /// A slot's key with all its bytes in the cell.
    func storedKey(at slot: Int) throws(TreeError) -> StoredKey {
        let cell = try cell(at: slot)
        return StoredKey(bytes: joined(with: bytes.extracting(cell.suffixRange)), isLong: cell.hasLongKey)
    }

    private func joined(with suffix: RawSpan) -> [UInt8] {
        var key: [UInt8] = []
        key.reserveCapacity(prefixLength + suffix.byteCount)
        key.appendBytes(prefix)
        key.appendBytes(suffix)
        return key
    }

    private func number(at offset: Int) -> UInt64 {
        UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// A branch cell's child.
    func child(of cell: Cell) -> NodeNumber { number(at: cell.range.lowerBound) }

    /// The number of entries below a cell, and their weight.
    func measure(of cell: Cell) throws(TreeError) -> Measure {
        let count = isLeaf ? 1 : number(at: cell.range.lowerBound + 8)
        let weight =
            form.isWeighted ? number(at: cell.range.lowerBound + NodeLayout.weightOffset(isLeaf: isLeaf)) : count
        guard count <= Measure.limit, weight <= Measure.limit else { throw impossible(count, weight) }
        return Measure(count: Int(count), weight: Int(weight))
    }

    /// The sum over some slots, in O(slots).
    func measure(of slots: Range<Int>) throws(TreeError) -> Measure {
        if isLeaf && !form.isWeighted { return Measure(count: slots.count, weight: slots.count) }
        return try slot(past: Measure(count: .max, weight: .max), in: slots).before
    }

    /// The first slot with which the sum exceeds a limit, and the sum of those before it. Throws when there is none.
    func slot(past limit: Measure) throws(TreeError) -> (slot: Int, before: Measure) {
        let rank = min(limit.count, limit.weight)
        let found =
            isLeaf && !form.isWeighted
            ? (slot: rank, before: Measure(count: rank, weight: rank)) : try slot(past: limit, in: 0..<slotCount)
        guard found.slot >= 0, found.slot < slotCount else {
            throw TreeError.corrupted(node: node, "its counts do not add up to its parent's")
        }
        return found
    }

    /// A branch's descent spends its time here, so it is one tight loop.
    private func slot(past limit: Measure, in slots: Range<Int>) throws(TreeError) -> (slot: Int, before: Measure) {
        let isWeighted = form.isWeighted
        let weightOffset = NodeLayout.weightOffset(isLeaf: isLeaf)
        let cellsStart = cellsStart
        var sum = Measure.zero
        var start = slots.lowerBound == 0 ? 0 : Int(rawEnd(of: slots.lowerBound - 1) & ~NodeLayout.longKeyMark)
        for slot in slots {
            let end = Int(rawEnd(of: slot) & ~NodeLayout.longKeyMark)
            guard start + fixedLength <= end, cellsStart + end <= bytes.byteCount else {
                throw TreeError.corrupted(node: node, "slot \(slot) reaches outside of it")
            }
            let count = isLeaf ? 1 : number(at: cellsStart + start + 8)
            let weight = isWeighted ? number(at: cellsStart + start + weightOffset) : count
            guard count <= Measure.limit, weight <= Measure.limit else { throw impossible(count, weight) }
            var next = sum
            next.count += Int(truncatingIfNeeded: count)
            next.weight += Int(truncatingIfNeeded: weight)
            if next.count > limit.count || next.weight > limit.weight { return (slot, sum) }
            sum = next
            start = end
        }
        return (slots.upperBound, sum)
    }

    private func impossible(_ count: UInt64, _ weight: UInt64) -> TreeError {
        .corrupted(node: node, "a count of \(count) or weight of \(weight) is impossible")
    }
}

/// The number of entries in a part of a tree, and their total weight.
package struct Measure: Equatable, Sendable {
    package var count: Int
    package var weight: Int

    package init(count: Int, weight: Int) {
        self.count = count
        self.weight = weight
    }

    package static let zero = Measure(count: 0, weight: 0)
    /// More than a store can hold, and small enough that sums over a node's slots cannot overflow.
    package static let limit: UInt64 = 1 << 40

    static func += (left: inout Measure, right: Measure) {
        left.count += right.count
        left.weight += right.weight
    }

    static func -= (left: inout Measure, right: Measure) {
        left.count -= right.count
        left.weight -= right.weight
    }
}
