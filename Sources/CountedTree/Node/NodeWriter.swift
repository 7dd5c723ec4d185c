internal import Bytes
/// Assembles nodes from cells, copied in runs from other nodes or new.
struct NodeWriter {
    private let level: Int
    private let isWeighted: Bool
    private var ends: [UInt32] = []
    private var cells: [UInt8] = []
    /// In the ends here, which may be too many for a node.
    private static let longKeyMark: UInt32 = 1 << 31

    init(level: Int, isWeighted: Bool) {
        self.level = level
        self.isWeighted = isWeighted
    }

    /// Makes room for a node's cells and some more.
    private mutating func reserve(for view: NodeView, adding: Int) {
        ends.reserveCapacity(view.slotCount + adding)
        cells.reserveCapacity(view.bytes.byteCount + 64 * adding)
    }

    var slotCount: Int { ends.count }
    var byteCount: Int { NodeLayout.headerLength + 2 * ends.count + cells.count }

    /// The bytes that another cell with this key would take.
    func cost(of key: StoredKey) -> Int {
        2 + NodeLayout.keyOffset(isLeaf: level == 0, isWeighted: isWeighted) + key.bytes.count
    }

    mutating func append(_ slots: Range<Int>, of view: NodeView) throws {
        guard !slots.isEmpty else { return }
        let start = try view.cell(at: slots.lowerBound).range.lowerBound
        let end = try view.cell(at: slots.upperBound - 1).range.upperBound
        guard start <= end else { throw TreeError.corrupted(node: view.node, "its cells overlap") }
        let shift = cells.count - (start - view.cellsStart)
        var previous = cells.count
        let last = cells.count + end - start
        for slot in slots {
            let rawEnd = view.rawEnd(of: slot)
            let end = Int(rawEnd & ~NodeLayout.longKeyMark) + shift
            defer { previous = end }
            guard previous <= end, end <= last else {
                throw TreeError.corrupted(node: view.node, "slot \(slot) reaches outside of it")
            }
            ends.append(UInt32(end) | (rawEnd & NodeLayout.longKeyMark == 0 ? 0 : Self.longKeyMark))
        }
        cells.appendBytes(view.bytes.extracting(start..<end))
    }

    /// Adds a leaf's cells with changes in the order of their slots.
    mutating func append(_ view: NodeView, _ changes: [CellChange]) throws {
        reserve(for: view, adding: changes.count)
        var next = 0
        for change in changes {
            try append(next..<change.slot, of: view)
            if let key = change.key { appendLeafCell(key, weight: change.weight) }
            next = change.slot + (change.drops ? 1 : 0)
        }
        try append(next..<view.slotCount, of: view)
    }

    mutating func appendLeafCell(_ key: StoredKey, weight: Int) {
        if isWeighted { cells.appendNumber(UInt64(truncatingIfNeeded: weight)) }
        appendKey(key)
    }

    mutating func appendBranchCell(child: NodeNumber, _ measure: Measure, _ key: StoredKey) {
        cells.appendNumber(child)
        cells.appendNumber(UInt64(truncatingIfNeeded: measure.count))
        if isWeighted { cells.appendNumber(UInt64(truncatingIfNeeded: measure.weight)) }
        appendKey(key)
    }

    private mutating func appendKey(_ key: StoredKey) {
        cells.append(contentsOf: key.bytes)
        ends.append(UInt32(cells.count) | (key.isLong ? Self.longKeyMark : 0))
    }

    /// The finished bytes of a node of all cells.
    func node() -> [UInt8] { node(0..<slotCount) }

    /// The finished bytes of a node of some of the cells.
    func node(_ slots: Range<Int>) -> [UInt8] {
        let start = slots.lowerBound == 0 ? 0 : end(of: slots.lowerBound - 1)
        let end = slots.isEmpty ? start : end(of: slots.upperBound - 1)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(NodeLayout.headerLength + 2 * slots.count + end - start)
        bytes.append(NodeLayout.kind(level: level, isWeighted: isWeighted).rawValue)
        bytes.append(UInt8(level))
        bytes.appendNumber(UInt16(slots.count))
        bytes.append(contentsOf: repeatElement(0, count: 2 * slots.count))
        bytes.withUnsafeMutableBytes { bytes in
            var offset = NodeLayout.headerLength
            for slot in slots {
                let mark = ends[slot] & Self.longKeyMark == 0 ? 0 : NodeLayout.longKeyMark
                let end = UInt16(self.end(of: slot) - start) | mark
                bytes.storeBytes(of: end.littleEndian, toByteOffset: offset, as: UInt16.self)
                offset += 2
            }
        }
        cells.withUnsafeBytes { bytes.append(contentsOf: $0[start..<end]) }
        return bytes
    }

    /// How to split cells that do not fit into one node: into full nodes when all were added at the end, so that ascending
    /// keys leave full nodes; otherwise into nodes of equal size.
    func cuts(capacity: Int, fillsNodes: Bool) -> [Range<Int>] {
        let parts = (byteCount + capacity - 1) / capacity
        let wanted = fillsNodes ? capacity : byteCount / parts
        var cuts: [Range<Int>] = []
        var first = 0
        for slot in 0..<slotCount where slot > first {
            if byteCount(of: first..<slot) >= wanted || byteCount(of: first..<slot + 1) > capacity {
                cuts.append(first..<slot)
                first = slot
            }
        }
        return cuts + [first..<slotCount]
    }

    /// The bytes of a node of some of the cells.
    private func byteCount(of slots: Range<Int>) -> Int {
        let start = slots.lowerBound == 0 ? 0 : end(of: slots.lowerBound - 1)
        return NodeLayout.headerLength + 2 * slots.count + end(of: slots.upperBound - 1) - start
    }

    private func end(of slot: Int) -> Int { Int(ends[slot] & ~Self.longKeyMark) }

    mutating func removeAll() {
        ends.removeAll(keepingCapacity: true)
        cells.removeAll(keepingCapacity: true)
    }
}
