internal import FetchIndexPlatform
/// A key as cells store it: whole, or a long key's first bytes and the reference to its overflow nodes.
struct StoredKey {
    var bytes: [UInt8]
    var isLong: Bool

    /// The number of the key's bytes in `bytes`, without a long key's reference.
    var inlineCount: Int { bytes.count - (isLong ? NodeLayout.longKeyReferenceLength : 0) }

    static let empty = StoredKey(bytes: [], isLong: false)
}

/// Stores long keys, which don't fit in a cell. The bytes that aren't in the cell are in a chain of overflow nodes.
extension NodeStore {
    /// Converts a key to its stored form. Writes overflow nodes if the key is long.
    func storedForm(of key: RawSpan, _ form: CellForm) throws -> StoredKey {
        let maximum = NodeLayout.maximumInlineKey(capacity: capacity, form)
        if key.byteCount <= maximum { return StoredKey(bytes: [UInt8](copying: key), isLong: false) }
        var bytes = [UInt8](copying: key.extracting(0..<maximum))
        bytes.appendNumber(try writeOverflow(key.extracting(maximum..<key.byteCount)))
        bytes.appendNumber(UInt32(key.byteCount))
        return StoredKey(bytes: bytes, isLong: true)
    }

    /// Writes a chain of overflow nodes and returns the number of its first node. Begins with the chain's last node,
    /// because each node contains the number of the next one.
    private func writeOverflow(_ rest: RawSpan) throws -> NodeNumber {
        let room = capacity - NodeLayout.overflowHeaderLength
        var next: NodeNumber = 0
        var end = rest.byteCount
        while end > 0 {
            let start = (end - 1) / room * room
            var bytes: [UInt8] = [NodeLayout.Kind.overflow.rawValue, 0, 0, 0]
            bytes.appendNumber(next)
            bytes.appendBytes(rest.extracting(start..<end))
            let node = try allocate()
            try write(node, bytes)
            next = node
            end = start
        }
        return next
    }

    /// A cell's whole long key.
    func longKey(of cell: NodeView.Cell, in view: NodeView) throws -> [UInt8] {
        var key = try view.inlineKey(of: cell)
        let (first, length) = reference(of: cell, in: view)
        try forEachOverflowNode(from: first) { node, rest in
            guard key.count + rest.byteCount <= length else {
                throw TreeError.corrupted(node: node, "it makes a long key longer than its stored length")
            }
            key.appendBytes(rest)
            return key.count < length
        }
        guard key.count == length else {
            throw TreeError.corrupted(node: view.node, "a long key has \(key.count) bytes instead of \(length)")
        }
        return key
    }

    /// The overflow nodes of a cell's long key, to be freed with the cell; empty if its key isn't long.
    func overflowNodes(of cell: NodeView.Cell, in view: NodeView) throws -> [NodeNumber] {
        guard cell.hasLongKey else { return [] }
        var nodes: [NodeNumber] = []
        try forEachOverflowNode(from: reference(of: cell, in: view).first) { node, _ in
            nodes.append(node)
            return true
        }
        return nodes
    }

    private func reference(of cell: NodeView.Cell, in view: NodeView) -> (first: NodeNumber, length: Int) {
        let offset = cell.range.upperBound - NodeLayout.longKeyReferenceLength
        let first = view.bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
        let length = view.bytes.unsafeLoadUnaligned(fromByteOffset: offset + 8, as: UInt32.self)
        return (UInt64(littleEndian: first), Int(UInt32(littleEndian: length)))
    }

    /// Calls the body with the nodes of a chain until the body returns false. The numbers of the nodes must descend, so
    /// that a damaged chain can't be a cycle.
    private func forEachOverflowNode(
        from first: NodeNumber, _ body: (NodeNumber, RawSpan) throws -> Bool
    ) throws {
        var node = first
        while node != 0 {
            var next: NodeNumber = 0
            try read(node) { bytes in
                guard bytes.byteCount > NodeLayout.overflowHeaderLength,
                    bytes.unsafeLoad(as: UInt8.self) == NodeLayout.Kind.overflow.rawValue
                else { throw TreeError.corrupted(node: node, "it is not an overflow node") }
                next = UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: 4, as: UInt64.self))
                guard next < node else {
                    throw TreeError.corrupted(node: node, "the next node of its chain has no lesser number")
                }
                let rest = bytes.extracting(NodeLayout.overflowHeaderLength..<bytes.byteCount)
                if try !body(node, rest) { next = 0 }
            }
            node = next
        }
    }
}
