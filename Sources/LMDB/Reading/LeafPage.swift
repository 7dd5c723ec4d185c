internal import CFetchIndexLMDB

/// Reads a leaf page of a table of integer keys directly, which costs less than calling LMDB for each entry. Only for
/// pages in the map that are as long as the system's.
struct LeafPage {
    private static let keyLength = 8
    /// The length of a node without its value.
    private static let nodeLength = Page.Node.headerLength + keyLength

    private let bytes: UnsafeRawBufferPointer
    let count: Int

    /// The page. Its layout isn't stored, so that the compiler knows it.
    @inline(__always)
    private var page: Page { Page(bytes: bytes, layout: .linked) }

    /// Finds the page that contains a key, which must be in the map. Returns nil if the page's header isn't that of a
    /// leaf, or if one of its nodes begins too near the end of the page: the caller then reads through LMDB. O(nodes).
    init?(of key: MDB_val) {
        let address = UInt(bitPattern: key.mv_data) & ~UInt(PageBounds.systemPageLength - 1)
        guard let start = UnsafeRawPointer(bitPattern: address) else { return nil }
        bytes = UnsafeRawBufferPointer(start: start, count: PageBounds.systemPageLength)
        let page = Page(bytes: bytes, layout: .linked)
        let lower = page.lower
        guard page.flags == Page.Kind.leaf.rawValue, lower > PageLayout.linked.headerLength,
            lower <= PageBounds.systemPageLength
        else { return nil }
        count = page.nodeCount
        let last = PageBounds.systemPageLength - Self.nodeLength
        for index in 0..<count where page.offset(of: index) > last { return nil }
    }

    /// The index of the entry whose key is at an address; nil if there isn't one.
    func index(ofKeyAt key: UnsafeRawPointer) -> Int? {
        guard let start = bytes.baseAddress else { return nil }
        let offset = key - start - Page.Node.headerLength
        return (0..<count).first { page.offset(of: $0) == offset }
    }

    /// An entry of the page; nil if its value is in overflow pages. Throws if LMDB can't have written it.
    @inline(__always)
    func entry(_ index: Int) throws(LMDBError) -> (key: UInt64, value: UnsafeRawBufferPointer)? {
        let node = page.node(index)
        let (flags, length) = (node.flags, node.valueLength)
        let value = node.offset + Self.nodeLength
        if flags == Page.Node.overflowFlag { return nil }
        guard flags == 0, node.keyLength == Self.keyLength, value + length <= PageBounds.systemPageLength else {
            throw LMDBError.corrupted
        }
        let key = bytes.loadUnaligned(fromByteOffset: node.keyOffset, as: UInt64.self)
        return (key, UnsafeRawBufferPointer(rebasing: bytes[value..<value + length]))
    }
}
