internal import Bytes
/// What becomes of a slot of a leaf.
struct CellChange {
    let slot: Int
    /// Whether the slot's cell goes.
    let drops: Bool
    /// The key of a cell that stands before the slot then, or in its place; nil when there is none.
    let key: StoredKey?
    var weight = 0
    /// In trees with summaries.
    var summary: [UInt8] = []
}

extension NodeView {
    /// A leaf's bytes after changes in the order of their slots, made in one go; nil when they are too many for one node,
    /// or none, or need another prefix. What does not change is copied in runs.
    func replacing(_ changes: [CellChange], capacity: Int) throws(TreeError) -> [UInt8]? {
        var count = slotCount
        var byteCount = bytes.byteCount
        for change in changes {
            if change.drops {
                let cell = try cell(at: change.slot)
                byteCount -= 2 + cell.range.count
                count -= 1
            }
            if let key = change.key {
                guard hasPrefix(key) else { return nil }
                byteCount += 2 + NodeLayout.fixedLength(isLeaf: true, form) + change.summary.count
                byteCount += key.bytes.count - prefixLength
                count += 1
            }
        }
        guard count > 0, byteCount >= NodeLayout.headerLength + prefixLength + 2 * count, byteCount <= capacity else {
            return nil
        }
        var node = [UInt8](repeating: 0, count: byteCount)
        var isWhole = false
        node.withUnsafeMutableBytes { node in
            bytes.withUnsafeBytes { old in
                var copy = CellCopy(
                    from: old, slotCount: slotCount, to: node, slotCount: count, prefixLength: prefixLength)
                isWhole = copy.copy(changes, form)
            }
        }
        guard isWhole else { throw TreeError.corrupted(node: self.node, "its cells overlap") }
        return node
    }

    private func hasPrefix(_ key: StoredKey) -> Bool {
        key.inlineCount >= prefixLength && key.bytes.span.bytes.extracting(first: prefixLength).compare(prefix) == 0
    }
}

/// Copies a leaf's prefix and cells into another's bytes. Ends that do not ascend stop it.
private struct CellCopy {
    private let old: UnsafeRawBufferPointer
    private let oldCount: Int
    private let new: UnsafeMutableRawBufferPointer
    private let newCount: Int
    private let prefixLength: Int
    /// The next slots, and the ends of the cells before them, from the first cell on.
    private var oldSlot = 0
    private var oldEnd = 0
    private var newSlot = 0
    private var newEnd = 0

    init(
        from old: UnsafeRawBufferPointer, slotCount oldCount: Int, to new: UnsafeMutableRawBufferPointer,
        slotCount newCount: Int, prefixLength: Int
    ) {
        self.old = old
        self.oldCount = oldCount
        self.new = new
        self.newCount = newCount
        self.prefixLength = prefixLength
        new.copyMemory(from: UnsafeRawBufferPointer(rebasing: old[..<NodeLayout.headerLength]))
        new.storeBytes(of: UInt16(newCount).littleEndian, toByteOffset: 2, as: UInt16.self)
        let (oldStart, newStart) = (cellsStart(oldCount), cellsStart(newCount))
        UnsafeMutableRawBufferPointer(rebasing: new[newStart - prefixLength..<newStart]).copyMemory(
            from: UnsafeRawBufferPointer(rebasing: old[oldStart - prefixLength..<oldStart]))
    }

    private func cellsStart(_ slotCount: Int) -> Int { NodeLayout.headerLength + 2 * slotCount + prefixLength }

    /// False when the old node is damaged, or the changes do not fit it.
    mutating func copy(_ changes: [CellChange], _ form: CellForm) -> Bool {
        for change in changes {
            guard copyCells(upTo: change.slot) else { return false }
            if change.drops { oldEnd = end(of: oldSlot); oldSlot += 1 }
            if let key = change.key { guard append(key, change, form) else { return false } }
        }
        return copyCells(upTo: oldCount) && newSlot == newCount
    }

    private func rawEnd(of slot: Int) -> UInt16 {
        UInt16(littleEndian: old.loadUnaligned(fromByteOffset: NodeLayout.headerLength + 2 * slot, as: UInt16.self))
    }

    private func end(of slot: Int) -> Int { Int(rawEnd(of: slot) & ~NodeLayout.longKeyMark) }

    private mutating func copyCells(upTo slot: Int) -> Bool {
        guard oldSlot < slot else { return oldSlot == slot }
        let start = oldEnd
        let end = end(of: slot - 1)
        let to = cellsStart(newCount) + newEnd
        let from = cellsStart(oldCount) + start
        guard slot <= oldCount, newSlot + slot - oldSlot <= newCount, start <= end,
            from + end - start <= old.count, to + end - start <= new.count
        else { return false }
        let shift = newEnd - start
        while oldSlot < slot {
            let raw = rawEnd(of: oldSlot)
            let cellEnd = Int(raw & ~NodeLayout.longKeyMark)
            guard cellEnd >= oldEnd, cellEnd <= end else { return false }
            oldEnd = cellEnd
            setEnd(cellEnd + shift, mark: raw & NodeLayout.longKeyMark)
            oldSlot += 1
        }
        newEnd += end - start
        UnsafeMutableRawBufferPointer(rebasing: new[to..<to + end - start]).copyMemory(
            from: UnsafeRawBufferPointer(rebasing: old[from..<from + end - start]))
        return true
    }

    private mutating func append(_ key: StoredKey, _ change: CellChange, _ form: CellForm) -> Bool {
        var to = cellsStart(newCount) + newEnd
        let length =
            NodeLayout.fixedLength(isLeaf: true, form) + change.summary.count + key.bytes.count - prefixLength
        guard newSlot < newCount, to + length <= new.count else { return false }
        if form.isWeighted {
            let weight = UInt64(truncatingIfNeeded: change.weight)
            new.storeBytes(of: weight.littleEndian, toByteOffset: to, as: UInt64.self)
            to += 8
        }
        if form.hasSummaries {
            let length = UInt16(truncatingIfNeeded: change.summary.count)
            new.storeBytes(of: length.littleEndian, toByteOffset: to, as: UInt16.self)
            new[(to + NodeLayout.summaryLengthLength)...].copyBytes(from: change.summary)
            to += NodeLayout.summaryLengthLength + change.summary.count
        }
        new[to...].copyBytes(from: key.bytes[prefixLength...])
        newEnd += length
        setEnd(newEnd, mark: key.isLong ? NodeLayout.longKeyMark : 0)
        return true
    }

    private mutating func setEnd(_ end: Int, mark: UInt16) {
        let offset = NodeLayout.headerLength + 2 * newSlot
        new.storeBytes(of: (UInt16(truncatingIfNeeded: end) | mark).littleEndian, toByteOffset: offset, as: UInt16.self)
        newSlot += 1
    }
}
