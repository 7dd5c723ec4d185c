internal import FetchIndexPlatform
extension NodeView {
    /// Returns the bytes of this leaf with changes, which must be in the order of their slots; nil if `changes` is
    /// empty, or if the leaf would exceed one node or be empty. O(bytes).
    func replacing(_ changes: [CellChange], capacity: Int, in buffer: LeafBuffer) throws -> [UInt8]? {
        var count = slotCount
        for change in changes { count += (change.key == nil ? 0 : 1) - (change.drops ? 1 : 0) }
        guard count > 0, NodeLayout.headerLength + 2 * count < capacity, let first = changes.first else { return nil }
        return try withExtendedLifetime(buffer) {
            let memory = buffer.bytes(LeafRewrite.bufferLength(bytes.byteCount, capacity: capacity))
            var rewrite = LeafRewrite(of: bytes, in: memory, capacity: capacity, slotCount: count, form)
            guard try rewrite.copyFirst(first.slot, of: self) else { return nil }
            for change in changes {
                guard try rewrite.copyOldCells(upTo: change.slot, of: self), try rewrite.apply(change, of: self) else {
                    return nil
                }
            }
            return try rewrite.copyOldCells(upTo: slotCount, of: self) ? rewrite.bytes : nil
        }
    }
}

/// The memory in which one leaf after the other is rewritten.
final class LeafBuffer {
    private var bytes = UnsafeMutableRawBufferPointer(start: nil, count: 0)

    deinit { bytes.deallocate() }

    /// At least `count` bytes, which aren't initialized.
    fileprivate func bytes(_ count: Int) -> UnsafeMutableRawBufferPointer {
        if bytes.count < count {
            bytes.deallocate()
            bytes = .allocate(byteCount: count, alignment: 8)
        }
        return bytes
    }
}

/// Writes a leaf's cells with changes into the bytes of a new leaf. Each old key is read at most once, in order. Two
/// old keys are compared only if neither is the base of the other.
private struct LeafRewrite {
    /// The new leaf, with room for `capacity` bytes and padding.
    private let node: UnsafeMutableRawPointer
    /// The key of the last read old slot, with room for `capacity` bytes and padding.
    private let oldKey: UnsafeMutableRawPointer
    /// A copy of the old leaf, followed by padding.
    private let old: UnsafeRawPointer
    private let capacity: Int
    private let cellsStart: Int
    private let slotCount: Int
    private let form: CellForm
    private var slot = 0
    private var output: ByteOutput
    private var shared = SharedLengths()
    /// The next old slot to read. `oldKey` holds the key before it; for a long key, its bytes in the node.
    private var oldSlot = 0
    private var oldKeyLength = 0
    /// The length of the prefix that the last written key shares with `oldKey`; unused while `isBehindNewKey`.
    private var sharedWithOld = 0
    /// Whether the last written key is a new one, which `newKey` holds.
    private var isBehindNewKey = false
    private var newKey = StoredKey.empty

    static func bufferLength(_ oldLength: Int, capacity: Int) -> Int {
        2 * (capacity + PaddedBytes.padding) + oldLength + PaddedBytes.padding
    }

    /// Prepares to write `slotCount` slots into a buffer of `bufferLength` bytes.
    init(
        of leaf: RawSpan, in buffer: UnsafeMutableRawBufferPointer, capacity: Int, slotCount: Int, _ form: CellForm
    ) {
        let length = capacity + PaddedBytes.padding
        node = buffer.baseAddress.unsafelyUnwrapped
        oldKey = node + length
        let copy = oldKey + length
        leaf.withUnsafeBytes { UnsafeMutableRawBufferPointer(start: copy, count: $0.count).copyMemory(from: $0) }
        old = UnsafeRawPointer(copy)
        self.capacity = capacity
        self.slotCount = slotCount
        self.form = form
        cellsStart = NodeLayout.headerLength + 2 * slotCount
        output = ByteOutput(node, from: cellsStart)
    }

    var bytes: [UInt8] { [UInt8](UnsafeRawBufferPointer(start: node, count: output.offset)) }

    /// Copies the header and the cells before the first change. Returns false if they don't fit.
    mutating func copyFirst(_ count: Int, of view: NodeView) throws -> Bool {
        guard count <= view.slotCount, count <= slotCount else { throw view.outOfOrder }
        node.copyMemory(from: old, byteCount: NodeLayout.headerLength + 2 * count)
        node.storeBytes(of: UInt16(slotCount).littleEndian, toByteOffset: 2, as: UInt16.self)
        guard count > 0 else { return true }
        let last = try view.cell(at: count - 1)
        guard last.inlineCount <= capacity else { throw view.withoutBase(last) }
        let length = last.range.upperBound - view.cellsStart
        guard cellsStart + length <= capacity else { return false }
        output.append(UnsafeRawBufferPointer(start: old + view.cellsStart, count: length))
        try view.copyKey(
            of: last, upTo: last.inlineEnd, to: UnsafeMutableRawBufferPointer(start: oldKey, count: capacity))
        oldKeyLength = last.inlineCount
        sharedWithOld = oldKeyLength
        shared = try SharedLengths(count: count) { try view.cell(at: $0).sharedLength }
        (slot, oldSlot) = (count, count)
        return true
    }

    /// Writes the old cells before slot `end`. Returns false if they don't fit.
    mutating func copyOldCells(upTo end: Int, of view: NodeView) throws -> Bool {
        guard oldSlot <= end, end <= view.slotCount else { throw view.outOfOrder }
        while oldSlot < end {
            if !isBehindNewKey { copyShortCells(upTo: end, of: view) }
            guard try oldSlot == end || copyOldCell(of: view) else { return false }
        }
        return true
    }

    /// Fast path for old cells: copies cells until one has a long key or a key of 255 bytes or more, is damaged or
    /// may not fit; `copyOldCell` handles such a cell.
    private mutating func copyShortCells(upTo last: Int, of view: NodeView) {
        // One loop over copies of the fields, which it writes back at its end.
        let ends = old + NodeLayout.headerLength
        let cells = old + view.cellsStart
        // The end of a cell with a long key has the mark bit, and so is greater than this length.
        let cellsLength = view.bytes.byteCount - view.cellsStart
        let fixedLength = NodeLayout.fixedLength(isLeaf: true, form)
        var (slot, oldSlot, keyLength, withOld) = (slot, oldSlot, oldKeyLength, sharedWithOld)
        var (output, shared) = (output, shared)
        var start = oldSlot == 0 ? 0 : Int(view.rawEnd(of: oldSlot - 1) & ~NodeLayout.longKeyMark)
        while oldSlot < last, slot < slotCount {
            let end = Int(UInt16(littleEndian: (ends + 2 &* oldSlot).loadUnaligned(as: UInt16.self)))
            var keyStart = start &+ fixedLength
            guard keyStart < end, end <= cellsLength else { break }
            if form.hasSummaries {
                let summaryStart = cells + (keyStart &- NodeLayout.summaryLengthLength)
                keyStart &+= Int(UInt16(littleEndian: summaryStart.loadUnaligned(as: UInt16.self)))
                guard keyStart < end else { break }
            }
            let ownShared = Int((cells + keyStart).load(as: UInt8.self))
            let rest = cells + (keyStart &+ 1)
            let restLength = end &- keyStart &- 1
            let newLength = ownShared &+ restLength
            let headLength = keyStart &- start
            guard ownShared <= keyLength, newLength < Int(NodeLayout.longSharedMark),
                output.offset &+ headLength &+ 1 &+ newLength <= capacity
            else { break }
            var common = ownShared
            if oldSlot & 1 == 0 {
                common &+= PaddedBytes.commonPrefixLength(
                    rest, oldKey + ownShared, upTo: min(restLength, keyLength &- ownShared))
            }
            let length = shared.append(min(withOld, common))
            if headLength > 0 { output.append(headLength, padded: cells + start) }
            output.append(shortShared: length)
            // Bytes that the cell has are read from it instead of `oldKey`: bytes that were just written to `oldKey` in
            // words of other sizes are slow to read.
            if length < ownShared { output.append(ownShared &- length, padded: oldKey + length) }
            let skipped = max(0, length &- ownShared)
            output.append(restLength &- skipped, padded: rest + skipped)
            PaddedBytes.copy(restLength, from: rest, to: oldKey + ownShared)
            let cellEnd = UInt16(truncatingIfNeeded: output.offset &- cellsStart)
            (node + NodeLayout.headerLength + 2 &* slot).storeBytes(of: cellEnd.littleEndian, as: UInt16.self)
            assert(output.offset <= capacity)
            (start, keyLength, withOld) = (end, newLength, newLength)
            slot &+= 1
            oldSlot &+= 1
        }
        (self.slot, self.oldSlot, oldKeyLength, sharedWithOld) = (slot, oldSlot, keyLength, withOld)
        (self.output, self.shared) = (output, shared)
    }

    private mutating func copyOldCell(of view: NodeView) throws -> Bool {
        let cell = try view.cell(at: oldSlot)
        let withOld = try readOldKey(cell, of: view)
        let withBefore = isBehindNewKey ? sharedWithOldKey(newKey) : min(sharedWithOld, withOld)
        let length = shared.append(withBefore)
        let headLength = cell.keyStart &- cell.range.lowerBound
        let keyLength = oldKeyLength &- length
        let endLength = cell.range.upperBound &- cell.inlineEnd
        guard fits(headLength &+ keyLength &+ endLength, shared: length) else { return false }
        if headLength > 0 { output.append(headLength, padded: old + cell.range.lowerBound) }
        output.append(shared: length)
        output.append(keyLength, padded: oldKey + length)
        if cell.hasLongKey { output.append(endLength, padded: old + cell.inlineEnd) }
        endCell(hasLongKey: cell.hasLongKey)
        sharedWithOld = oldKeyLength
        isBehindNewKey = false
        return true
    }

    /// Applies a change: skips the old cell if the change drops it, and writes the added cell, if any. Returns false if
    /// that cell doesn't fit.
    mutating func apply(_ change: CellChange, of view: NodeView) throws -> Bool {
        if change.drops {
            guard oldSlot < view.slotCount else { throw view.outOfOrder }
            sharedWithOld = min(sharedWithOld, try readOldKey(try view.cell(at: oldSlot), of: view))
        }
        guard let key = change.key else { return true }
        let inline = key.bytes.span.bytes.extracting(first: key.inlineCount)
        let withBefore =
            if isBehindNewKey {
                inline.commonPrefixLength(newKey.bytes.span.bytes.extracting(first: newKey.inlineCount))
            } else {
                min(sharedWithOld, sharedWithOldKey(key))
            }
        let length = shared.append(withBefore)
        let headLength = NodeLayout.fixedLength(isLeaf: true, form) + change.summary.count
        guard fits(headLength + key.bytes.count - length, shared: length) else { return false }
        if form.isWeighted { output.append(UInt64(truncatingIfNeeded: change.weight)) }
        if form.hasSummaries {
            output.append(UInt16(truncatingIfNeeded: change.summary.count))
            change.summary.withUnsafeBytes { output.append($0) }
        }
        output.append(shared: length)
        key.bytes.withUnsafeBytes { output.append(UnsafeRawBufferPointer(rebasing: $0[length...])) }
        endCell(hasLongKey: key.isLong)
        newKey = key
        isBehindNewKey = true
        return true
    }

    /// Assembles the next old key. Returns the length of the prefix that it shares with the key before it.
    @inline(__always)
    private mutating func readOldKey(_ cell: NodeView.Cell, of view: NodeView) throws -> Int {
        guard cell.sharedLength <= oldKeyLength, cell.inlineCount <= capacity else { throw view.withoutBase(cell) }
        let rest = old + cell.restRange.lowerBound
        let restLength = cell.inlineEnd &- cell.restRange.lowerBound
        var common = cell.sharedLength
        // The base of a key with an odd number is the key before it, so the stored shared length is the result.
        if oldSlot & 1 == 0 {
            common &+= PaddedBytes.commonPrefixLength(
                rest, oldKey + common, upTo: min(restLength, oldKeyLength &- common))
        }
        PaddedBytes.copy(restLength, from: rest, to: oldKey + cell.sharedLength)
        oldKeyLength = cell.inlineCount
        oldSlot &+= 1
        return common
    }

    private func sharedWithOldKey(_ key: StoredKey) -> Int {
        UnsafeRawBufferPointer(start: oldKey, count: oldKeyLength).bytes
            .commonPrefixLength(key.bytes.span.bytes.extracting(first: key.inlineCount))
    }

    /// Whether another cell fits. `length` is its length without the field of its shared length.
    @inline(__always)
    private func fits(_ length: Int, shared: Int) -> Bool {
        slot < slotCount && output.offset &+ NodeLayout.fieldLength(ofShared: shared) &+ length <= capacity
    }

    @inline(__always)
    private mutating func endCell(hasLongKey: Bool) {
        assert(output.offset <= capacity)
        let mark = hasLongKey ? NodeLayout.longKeyMark : 0
        let cellEnd = UInt16(truncatingIfNeeded: output.offset &- cellsStart) | mark
        (node + NodeLayout.headerLength + 2 * slot).storeBytes(of: cellEnd.littleEndian, as: UInt16.self)
        slot &+= 1
    }
}
