internal import FetchIndexPlatform

/// Fills a leaf with ascending keys. Each cell is written once, in its final form.
struct LeafFiller: ~Copyable {
    private let form: CellForm
    private let fixedLength: Int
    private let capacity: Int
    /// The cells without their ends. This memory has room for `capacity` bytes, like that of `ends` and `lastKey`.
    private let cells: UnsafeMutableRawPointer
    /// The ends of the cells, two bytes each.
    private let ends: UnsafeMutableRawPointer
    /// The last key in its stored form.
    private let lastKey: UnsafeMutableRawPointer
    private var output: ByteOutput
    private(set) var slotCount = 0
    /// The length of the last key; for a long key, of its bytes in the cell.
    private var lastKeyLength = 0
    private var isLastKeyLong = false
    private var shared = SharedLengths()

    init(_ form: CellForm, capacity: Int) {
        self.form = form
        self.capacity = capacity
        fixedLength = NodeLayout.fixedLength(isLeaf: true, form)
        cells = .allocate(byteCount: 3 * capacity, alignment: 8)
        ends = cells + capacity
        lastKey = ends + capacity
        output = ByteOutput(cells, from: 0)
    }

    deinit { cells.deallocate() }

    /// The outcome of adding a cell.
    enum Outcome {
        case added
        /// The cell wasn't added, because the leaf would be longer than `NodeLayout.filledLength`. `shared` is the
        /// length of the prefix that the key shares with the last key; of a long key, only the bytes in its cell count.
        case filled(shared: Int)
        /// The cell wasn't added, because its key isn't greater than the last one. The two keys aren't compared if one
        /// of them is long.
        case notAscending
    }

    /// Adds a cell, or returns the reason why it wasn't added. `key` is in its stored form, which must have at most
    /// `capacity` bytes.
    mutating func append(_ key: RawSpan, isLong: Bool, weight: Int, _ summary: RawSpan) -> Outcome {
        assert(key.byteCount <= capacity)
        let length = key.byteCount - (isLong ? NodeLayout.longKeyReferenceLength : 0)
        let last = UnsafeRawBufferPointer(start: lastKey, count: lastKeyLength)
        let common = last.bytes.commonPrefixLength(key.extracting(first: length))
        if slotCount > 0 && !isLong && !isLastKeyLong {
            let isAscending =
                common < length
                && (common == lastKeyLength || key.unsafeLoad(fromByteOffset: common, as: UInt8.self) > last[common])
            if !isAscending { return .notAscending }
        }
        // The shared length is computed first, and appended once it's known that the cell is added.
        let ownShared = shared.next(common)
        let cellLength =
            fixedLength + summary.byteCount + NodeLayout.fieldLength(ofShared: ownShared) + key.byteCount - ownShared
        guard byteCount + 2 + cellLength <= NodeLayout.filledLength(behind: slotCount, capacity: capacity) else {
            return .filled(shared: common)
        }
        if form.isWeighted { output.append(UInt64(truncatingIfNeeded: weight)) }
        if form.hasSummaries {
            output.append(UInt16(truncatingIfNeeded: summary.byteCount))
            summary.withUnsafeBytes { output.append($0) }
        }
        output.append(shared: ownShared)
        key.withUnsafeBytes { key in
            output.append(UnsafeRawBufferPointer(rebasing: key[ownShared...]))
            UnsafeMutableRawBufferPointer(start: lastKey + common, count: key.count - common).copyMemory(
                from: UnsafeRawBufferPointer(rebasing: key[common...]))
        }
        let end = UInt16(truncatingIfNeeded: output.offset) | (isLong ? NodeLayout.longKeyMark : 0)
        (ends + 2 * slotCount).storeBytes(of: end.littleEndian, as: UInt16.self)
        _ = shared.append(common)
        (lastKeyLength, isLastKeyLong) = (length, isLong)
        slotCount += 1
        return .added
    }

    /// The length of the finished node in bytes.
    private var byteCount: Int { NodeLayout.headerLength + 2 * slotCount + output.offset }

    /// The last key, or a long key's bytes that are in its cell; empty if the leaf is empty.
    func copyOfLastKey() -> [UInt8] { [UInt8](UnsafeRawBufferPointer(start: lastKey, count: lastKeyLength)) }

    /// The bytes of the finished leaf.
    func node() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: byteCount) { node, count in
            count = byteCount
            NodeLayout.writeHeader(level: 0, form, slotCount: slotCount, to: UnsafeMutableRawBufferPointer(node))
            var output = ByteOutput(node.baseAddress.unsafelyUnwrapped, from: NodeLayout.headerLength)
            output.append(UnsafeRawBufferPointer(start: ends, count: 2 * slotCount))
            output.append(UnsafeRawBufferPointer(start: cells, count: self.output.offset))
        }
    }

    mutating func removeAll() {
        output = ByteOutput(cells, from: 0)
        slotCount = 0
        lastKeyLength = 0
        isLastKeyLong = false
        shared = SharedLengths()
    }
}
