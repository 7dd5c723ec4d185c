internal import CFetchIndexLMDB

/// A leaf page of a table of integer keys, read in place: a call of LMDB for each entry would cost several times as
/// much. Only for pages in the map that are as long as the system's.
///
///     page number 8 | pad 2 | flags 2 | lower 2 | upper 2 | offset of each node 2 | free room | nodes
///     node: value length 4 | flags 2 | key length 2 | key 8 | value
struct LeafPage {
    private static let headerLength = 16
    private static let nodeHeaderLength = 8
    private static let keyLength = 8
    private static let leafFlag: UInt16 = 2
    /// The flag of a node whose value has overflow pages.
    private static let overflowFlag: UInt16 = 1

    private let start: UnsafeRawPointer
    let count: Int

    /// The page, in the map, of an entry's key. Nil unless it's a leaf with all nodes in it: then LMDB says what is
    /// wrong. O(nodes).
    init?(of key: MDB_val) {
        let address = UInt(bitPattern: key.mv_data) & ~UInt(PageBounds.systemPageLength - 1)
        guard let start = UnsafeRawPointer(bitPattern: address),
            start.load(fromByteOffset: 10, as: UInt16.self) == Self.leafFlag
        else { return nil }
        let lower = Int(start.load(fromByteOffset: 12, as: UInt16.self))
        guard lower > Self.headerLength, lower <= PageBounds.systemPageLength else { return nil }
        self.start = start
        count = (lower - Self.headerLength) / 2
        let last = PageBounds.systemPageLength - Self.nodeHeaderLength - Self.keyLength
        for index in 0..<count where offset(of: index) > last { return nil }
    }

    /// The index of the entry that has its key at an address; nil if no entry has.
    func index(ofKeyAt key: UnsafeRawPointer) -> Int? {
        let offset = key - start - Self.nodeHeaderLength
        return (0..<count).first { self.offset(of: $0) == offset }
    }

    /// An entry; nil if its value has overflow pages. Throws if it isn't as LMDB writes it.
    @inline(__always)
    func entry(_ index: Int) throws(LMDBError) -> (key: UInt64, value: UnsafeRawBufferPointer)? {
        let offset = offset(of: index)
        let node = start + offset
        let length = Int(node.loadUnaligned(as: UInt32.self))
        let flags = node.loadUnaligned(fromByteOffset: 4, as: UInt16.self)
        let keyLength = node.loadUnaligned(fromByteOffset: 6, as: UInt16.self)
        let value = Self.nodeHeaderLength + Self.keyLength
        if flags == Self.overflowFlag { return nil }
        guard flags == 0, keyLength == Self.keyLength, offset + value + length <= PageBounds.systemPageLength else {
            throw LMDBError.corrupted
        }
        let key = node.loadUnaligned(fromByteOffset: Self.nodeHeaderLength, as: UInt64.self)
        return (key, UnsafeRawBufferPointer(start: node + value, count: length))
    }

    @inline(__always)
    private func offset(of index: Int) -> Int {
        Int(start.load(fromByteOffset: Self.headerLength + 2 * index, as: UInt16.self))
    }
}
