internal import FetchIndexPlatform
/// Reads a node's bytes in place. Offsets that it reads there are checked before they're used.
struct NodeView: ~Escapable {
    /// The node's bytes up to the end of its last cell, without a store's padding.
    let bytes: RawSpan
    let node: NodeNumber
    let slotCount: Int
    /// The length of the part of a cell before its summary, or before its key in a tree without summaries.
    private let fixedLength: Int
    let isLeaf: Bool
    let form: CellForm

    /// The ranges of a cell's parts in the node's bytes.
    struct Cell {
        let slot: Int
        /// The range of the whole cell.
        let range: Range<Int>
        /// The offset of the key's shared length, where the summary ends.
        let keyStart: Int
        /// The length of the prefix that the key shares with its base, an earlier key of the node (`NodeLayout`).
        let sharedLength: Int
        /// The range of the rest of the key in the cell, including the reference at the end of a long key.
        let restRange: Range<Int>
        let hasLongKey: Bool

        /// The end of the key's bytes in the cell, without a long key's reference.
        var inlineEnd: Int { restRange.upperBound &- (hasLongKey ? NodeLayout.longKeyReferenceLength : 0) }
        /// The number of the key's bytes that are in the node, including those shared with its base.
        var inlineCount: Int { sharedLength &+ inlineEnd &- restRange.lowerBound }
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
        let cellsStart = NodeLayout.headerLength + 2 * slotCount
        guard slotCount > 0, cellsStart <= bytes.byteCount else {
            throw TreeError.corrupted(
                node: node, "\(slotCount) slots are impossible in its \(bytes.byteCount) bytes")
        }
        let lastEnd = UInt16(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: cellsStart - 2, as: UInt16.self))
        let end = cellsStart + Int(lastEnd & ~NodeLayout.longKeyMark)
        guard end <= bytes.byteCount else {
            throw TreeError.corrupted(node: node, "slot \(slotCount - 1) has an impossible cell")
        }
        self.bytes = bytes.extracting(first: end)
    }

    var cellsStart: Int { NodeLayout.headerLength + 2 * slotCount }

    /// The slot of the first key.
    var firstKeySlot: Int { NodeLayout.firstKeySlot(isLeaf: isLeaf) }

    /// The end of a slot's cell, counted from `cellsStart`, with the mark of a long key. The slot must be in range.
    func rawEnd(of slot: Int) -> UInt16 {
        number16(at: NodeLayout.headerLength + 2 * slot)
    }

    // Offsets are sums of a few 16-bit numbers, so they don't overflow. Each is compared with the end of the node
    // before bytes are read at it.
    @inline(__always)
    func cell(at slot: Int) throws(TreeError) -> Cell {
        let cellsStart = cellsStart
        let start = cellsStart &+ (slot == 0 ? 0 : Int(rawEnd(of: slot &- 1) & ~NodeLayout.longKeyMark))
        let rawEnd = rawEnd(of: slot)
        let end = cellsStart &+ Int(rawEnd & ~NodeLayout.longKeyMark)
        let hasLongKey = rawEnd & NodeLayout.longKeyMark != 0
        var keyStart = start &+ fixedLength
        guard keyStart < end, end <= bytes.byteCount else { throw outside(slot) }
        if form.hasSummaries { keyStart &+= summaryLength(before: keyStart) }
        guard keyStart < end else { throw outside(slot) }
        let first = bytes.unsafeLoad(fromUncheckedByteOffset: keyStart, as: UInt8.self)
        var sharedLength = Int(first)
        var restStart = keyStart &+ 1
        if first == NodeLayout.longSharedMark {
            restStart &+= 2
            guard restStart <= end else { throw outside(slot) }
            sharedLength = Int(number16(at: keyStart &+ 1))
        }
        guard restStart &+ (hasLongKey ? NodeLayout.longKeyReferenceLength : 0) <= end else { throw outside(slot) }
        guard sharedLength == 0 || slot > firstKeySlot else {
            throw TreeError.corrupted(node: node, "slot \(slot) has no earlier key to share \(sharedLength) bytes with")
        }
        return Cell(
            slot: slot, range: Range(uncheckedBounds: (start, end)), keyStart: keyStart, sharedLength: sharedLength,
            restRange: Range(uncheckedBounds: (restStart, end)), hasLongKey: hasLongKey)
    }

    private func outside(_ slot: Int) -> TreeError { .corrupted(node: node, "slot \(slot) has an impossible cell") }

    private func summaryLength(before offset: Int) -> Int {
        Int(number16(at: offset - NodeLayout.summaryLengthLength))
    }

    /// The range of a cell's summary; empty in a tree without summaries.
    func summaryRange(of cell: Cell) -> Range<Int> {
        cell.range.lowerBound + fixedLength..<cell.keyStart
    }

    /// A cell's summary; empty in a tree without summaries.
    @_lifetime(copy self)
    func summary(of cell: Cell) -> RawSpan { bytes.extracting(summaryRange(of: cell)) }

    /// The key's bytes in the cell, without the shared prefix, and without a long key's reference.
    @_lifetime(copy self)
    func inlineRest(of cell: Cell) -> RawSpan { bytes.extracting(cell.restRange.lowerBound..<cell.inlineEnd) }

    /// The key's bytes in the node: the whole key, or a long key's first bytes. O(log slots + bytes).
    func inlineKey(of cell: Cell) throws -> [UInt8] { try key(of: cell, upTo: cell.inlineEnd) }

    /// Calls the body with each cell of a leaf, starting at slot `first`, and with those bytes of the cell's key that
    /// are in the node, until the body returns false. Assembles each key but the first from the one before it.
    /// O(bytes).
    func forEachKey(from first: Int, _ body: (Cell, RawSpan) throws -> Bool) throws {
        guard first < slotCount else { return }
        try withUnsafeTemporaryAllocation(byteCount: bytes.byteCount, alignment: 1) { key in
            var length = 0
            for slot in first..<slotCount {
                let cell = try cell(at: slot)
                guard cell.inlineCount <= key.count, slot == first || cell.sharedLength <= length else {
                    throw withoutBase(cell)
                }
                if slot == first {
                    try copyKey(of: cell, upTo: cell.inlineEnd, to: key)
                } else {
                    inlineRest(of: cell).withUnsafeBytes {
                        UnsafeMutableRawBufferPointer(rebasing: key[cell.sharedLength...]).copyMemory(from: $0)
                    }
                }
                length = cell.inlineCount
                if try !body(cell, UnsafeRawBufferPointer(rebasing: key[..<length]).bytes) { return }
            }
        }
    }

    /// Replaces the key of the previous slot by the key of `cell`.
    func advance(_ key: inout [UInt8], to cell: Cell) throws(TreeError) {
        guard cell.sharedLength <= key.count else { throw withoutBase(cell) }
        key.removeLast(key.count - cell.sharedLength)
        key.appendBytes(inlineRest(of: cell))
    }

    /// Calls the body with the bytes of a key that are in the node. Uses the heap only for keys that are too long for
    /// the stack.
    func withInlineKey(of cell: Cell, _ body: (RawSpan) throws -> Void) throws {
        if cell.sharedLength == 0 { return try body(inlineRest(of: cell)) }
        try withUnsafeTemporaryAllocation(byteCount: cell.inlineCount, alignment: 1) { key in
            try copyKey(of: cell, upTo: cell.inlineEnd, to: key)
            try body(UnsafeRawBufferPointer(key).bytes)
        }
    }

    /// A slot's key in its stored form.
    func storedKey(at slot: Int) throws -> StoredKey {
        let cell = try cell(at: slot)
        return StoredKey(bytes: try key(of: cell, upTo: cell.range.upperBound), isLong: cell.hasLongKey)
    }

    private func key(of cell: Cell, upTo end: Int) throws -> [UInt8] {
        let length = cell.sharedLength + end - cell.restRange.lowerBound
        // An empty array is returned separately: creating one from memory would write to storage that all threads
        // share.
        if length == 0 { return [] }
        return try [UInt8](unsafeUninitializedCapacity: length) { key, count in
            try copyKey(of: cell, upTo: end, to: UnsafeMutableRawBufferPointer(key))
            count = length
        }
    }

    /// Assembles a key: its last bytes come from its cell, up to the offset `end` in the node, and the bytes before
    /// them from the cells of its base, of that key's base, and so on.
    func copyKey(
        of cell: Cell, upTo end: Int, to key: UnsafeMutableRawBufferPointer
    ) throws(TreeError) {
        func copy(_ range: Range<Int>, to offset: Int) {
            bytes.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: key[offset...]).copyMemory(
                    from: UnsafeRawBufferPointer(rebasing: $0[range]))
            }
        }
        copy(cell.restRange.lowerBound..<end, to: cell.sharedLength)
        var wanted = cell.sharedLength
        var number = cell.slot - firstKeySlot
        while wanted > 0 {
            // The loop ends at key 0 at the latest, which shares no bytes.
            number &= number - 1
            let base = try self.cell(at: firstKeySlot + number)
            if base.sharedLength >= wanted { continue }
            guard base.inlineCount >= wanted else { throw withoutBase(cell) }
            let length = wanted - base.sharedLength
            copy(base.restRange.lowerBound..<base.restRange.lowerBound + length, to: base.sharedLength)
            wanted = base.sharedLength
        }
    }

    var outOfOrder: TreeError { .corrupted(node: node, "its keys are out of order") }

    func withoutBase(_ cell: Cell) -> TreeError {
        .corrupted(node: node, "the key in slot \(cell.slot) has an impossible length")
    }

    private func number16(at offset: Int) -> UInt16 {
        UInt16(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self))
    }

    private func number(at offset: Int) -> UInt64 {
        UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// The number of a branch cell's child.
    func child(of cell: Cell) -> NodeNumber { number(at: cell.range.lowerBound) }

    /// The measure of a leaf cell's entry, or of all entries below a branch cell.
    func measure(of cell: Cell) throws(TreeError) -> Measure {
        let count = isLeaf ? 1 : number(at: cell.range.lowerBound + 8)
        let weight =
            form.isWeighted ? number(at: cell.range.lowerBound + NodeLayout.weightOffset(isLeaf: isLeaf)) : count
        guard count <= Measure.limit, weight <= Measure.limit else { throw impossible(count, weight) }
        return Measure(count: Int(count), weight: Int(weight))
    }

    /// The sum of the measures of some slots. O(slots).
    func measure(of slots: Range<Int>) throws(TreeError) -> Measure {
        if isLeaf && !form.isWeighted { return Measure(count: slots.count, weight: slots.count) }
        return try slot(past: Measure(count: .max, weight: .max), in: slots).before
    }

    /// Finds the first slot whose measure, added to the measures of the slots before it, exceeds `limit` in count or
    /// weight. Returns the slot and the sum before it. Throws if the sum of all slots doesn't exceed the limit.
    func slot(past limit: Measure) throws(TreeError) -> (slot: Int, before: Measure) {
        let rank = min(limit.count, limit.weight)
        let found =
            isLeaf && !form.isWeighted
            ? (slot: rank, before: Measure(count: rank, weight: rank)) : try slot(past: limit, in: 0..<slotCount)
        guard found.slot >= 0, found.slot < slotCount else {
            throw TreeError.corrupted(node: node, "its counts do not add up to the stored total")
        }
        return found
    }

    /// Finds the first slot of `slots` whose measure, added to the measures of the earlier slots of `slots`, exceeds
    /// `limit`. Returns the end of `slots` if the sum of all is within `limit`. Descents run this loop in each branch.
    private func slot(past limit: Measure, in slots: Range<Int>) throws(TreeError) -> (slot: Int, before: Measure) {
        let isWeighted = form.isWeighted
        let weightOffset = NodeLayout.weightOffset(isLeaf: isLeaf)
        let cellsStart = cellsStart
        var sum = Measure.zero
        var start = slots.lowerBound == 0 ? 0 : Int(rawEnd(of: slots.lowerBound - 1) & ~NodeLayout.longKeyMark)
        for slot in slots {
            let end = Int(rawEnd(of: slot) & ~NodeLayout.longKeyMark)
            guard start + fixedLength <= end, cellsStart + end <= bytes.byteCount else {
                throw TreeError.corrupted(node: node, "slot \(slot) has an impossible cell")
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
