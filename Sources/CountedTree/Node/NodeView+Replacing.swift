internal import Bytes
extension NodeView {
    /// A leaf's bytes after changes in the order of their slots, made in one go; nil when they are too many for one node,
    /// or none. O(bytes).
    func replacing(_ changes: [CellChange], capacity: Int) throws -> [UInt8]? {
        var count = slotCount
        for change in changes { count += (change.key == nil ? 0 : 1) - (change.drops ? 1 : 0) }
        guard count > 0, NodeLayout.headerLength + 2 * count < capacity, let first = changes.first else { return nil }
        var node: [UInt8]?
        try withUnsafeTemporaryAllocation(byteCount: 2 * capacity, alignment: 8) { buffer in
            var rewrite = LeafRewrite(
                to: UnsafeMutableRawBufferPointer(rebasing: buffer[..<capacity]), slotCount: count, form,
                key: UnsafeMutableRawBufferPointer(rebasing: buffer[capacity...]))
            guard try rewrite.copyFirst(first.slot, of: self) else { return }
            for change in changes {
                guard try rewrite.copyOldCells(upTo: change.slot, of: self), try rewrite.apply(change, of: self) else {
                    return
                }
            }
            guard try rewrite.copyOldCells(upTo: slotCount, of: self) else { return }
            node = rewrite.bytes
        }
        return node
    }
}

/// Writes a leaf's cells with changes into another leaf's bytes. It looks at each old key once, in order, and compares two
/// keys only where the cells don't say what they share.
private struct LeafRewrite {
    private let node: UnsafeMutableRawBufferPointer
    private let cellsStart: Int
    private let slotCount: Int
    private let form: CellForm
    private var slot = 0
    private var output: ByteOutput
    private var shared = SharedLengths()
    /// The next old slot, and the key of the one before it, as far as it is in the node.
    private var oldSlot = 0
    private let oldKey: UnsafeMutableRawBufferPointer
    private var oldKeyLength = 0
    /// How many bytes the last written key shares with the last old one.
    private var sharedWithOld = 0
    /// The last written key, if it was not in the old leaf.
    private var isBehindNewKey = false
    private var newKey = StoredKey.empty

    init(
        to node: UnsafeMutableRawBufferPointer, slotCount: Int, _ form: CellForm, key: UnsafeMutableRawBufferPointer
    ) {
        self.node = node
        self.slotCount = slotCount
        self.form = form
        oldKey = key
        cellsStart = NodeLayout.headerLength + 2 * slotCount
        output = ByteOutput(node, from: cellsStart)
    }

    var bytes: [UInt8] { [UInt8](UnsafeRawBufferPointer(rebasing: node[..<output.offset])) }

    /// Copies the header and the cells before the first change, which stay as they are. False when they do not fit.
    mutating func copyFirst(_ count: Int, of view: NodeView) throws -> Bool {
        guard count <= view.slotCount, count <= slotCount else { throw view.outOfOrder }
        view.bytes.withUnsafeBytes { old in
            UnsafeMutableRawBufferPointer(rebasing: node[..<(NodeLayout.headerLength + 2 * count)]).copyMemory(
                from: UnsafeRawBufferPointer(rebasing: old[..<(NodeLayout.headerLength + 2 * count)]))
        }
        node.storeBytes(of: UInt16(slotCount).littleEndian, toByteOffset: 2, as: UInt16.self)
        guard count > 0 else { return true }
        let last = try view.cell(at: count - 1)
        guard last.inlineCount <= oldKey.count else { throw view.withoutBase(last) }
        guard cellsStart + last.range.upperBound - view.cellsStart <= node.count else { return false }
        view.bytes.withUnsafeBytes { output.append($0, view.cellsStart..<last.range.upperBound) }
        try view.copyKey(of: last, upTo: last.inlineEnd, to: oldKey)
        oldKeyLength = last.inlineCount
        sharedWithOld = oldKeyLength
        shared = try SharedLengths(count: count) { try view.cell(at: $0).sharedLength }
        (slot, oldSlot) = (count, count)
        return true
    }

    /// Writes the old cells before a slot. False when they do not fit.
    mutating func copyOldCells(upTo end: Int, of view: NodeView) throws -> Bool {
        guard oldSlot <= end, end <= view.slotCount else { throw view.outOfOrder }
        while oldSlot < end {
            let cell = try view.cell(at: oldSlot)
            let withOld = try readOldKey(cell, of: view)
            let withBefore = isBehindNewKey ? sharedWithOldKey(newKey) : min(sharedWithOld, withOld)
            let length = shared.append(withBefore)
            let headLength = cell.keyStart - cell.range.lowerBound
            let restLength = oldKeyLength - length + cell.range.upperBound - cell.inlineEnd
            guard fits(headLength + restLength, shared: length) else { return false }
            view.bytes.withUnsafeBytes { old in
                if headLength > 0 { output.append(old, cell.range.lowerBound..<cell.keyStart) }
                output.append(shared: length)
                output.append(UnsafeRawBufferPointer(oldKey), length..<oldKeyLength)
                if cell.hasLongKey { output.append(old, cell.inlineEnd..<cell.range.upperBound) }
            }
            endCell(hasLongKey: cell.hasLongKey)
            sharedWithOld = oldKeyLength
            isBehindNewKey = false
        }
        return true
    }

    /// Writes what becomes of the next old slot. False when it does not fit.
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
            change.summary.withUnsafeBytes { output.append($0, 0..<$0.count) }
        }
        output.append(shared: length)
        key.bytes.withUnsafeBytes { output.append($0, length..<$0.count) }
        endCell(hasLongKey: key.isLong)
        newKey = key
        isBehindNewKey = true
        return true
    }

    /// Puts the next old key together. Returns how many bytes it shares with the one before.
    @inline(__always)
    private mutating func readOldKey(_ cell: NodeView.Cell, of view: NodeView) throws -> Int {
        let rest = view.inlineRest(of: cell)
        guard cell.sharedLength <= oldKeyLength, cell.inlineCount <= oldKey.count else { throw view.withoutBase(cell) }
        var common = cell.sharedLength
        // The base of an odd number's key is the one before.
        if oldSlot & 1 == 0 {
            let before = UnsafeRawBufferPointer(rebasing: oldKey[common..<oldKeyLength])
            common += rest.commonPrefixLength(before.bytes)
        }
        rest.withUnsafeBytes {
            UnsafeMutableRawBufferPointer(rebasing: oldKey[cell.sharedLength...]).copyMemory(from: $0)
        }
        oldKeyLength = cell.inlineCount
        oldSlot += 1
        return common
    }

    private func sharedWithOldKey(_ key: StoredKey) -> Int {
        let old = UnsafeRawBufferPointer(rebasing: oldKey[..<oldKeyLength])
        return old.bytes.commonPrefixLength(key.bytes.span.bytes.extracting(first: key.inlineCount))
    }

    /// Whether another cell fits, given the bytes beside its shared length.
    @inline(__always)
    private func fits(_ length: Int, shared: Int) -> Bool {
        slot < slotCount && output.offset + NodeLayout.fieldLength(ofShared: shared) + length <= node.count
    }

    @inline(__always)
    private mutating func endCell(hasLongKey: Bool) {
        let mark = hasLongKey ? NodeLayout.longKeyMark : 0
        let end = UInt16(truncatingIfNeeded: output.offset - cellsStart) | mark
        node.storeBytes(
            of: end.littleEndian, toByteOffset: NodeLayout.headerLength + 2 * slot, as: UInt16.self)
        slot += 1
    }
}
