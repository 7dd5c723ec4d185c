internal import FetchIndexPlatform

/// The pages of a committed state in a map, read without LMDB. Each page is checked before it's read: its place, its
/// header, and where the file has checksums, its checksum. So a damaged page throws `LMDBError.corrupted` or
/// `wrongChecksum`, and doesn't lead to an address outside of the map.
///
/// A value doesn't own the map, so the caller must keep the map.
struct MappedPages: @unchecked Sendable {
    let format: PageFormat
    /// The transaction that committed the state.
    private let transaction: UInt64
    /// Whether LMDB keeps other processes from overwriting the state's pages. If not, reading throws
    /// `LMDBError.overtaken` once they have committed twice after the state.
    private let isPinned: Bool
    /// The number of the state's pages that the file has.
    private let pageCount: UInt64
    private let pageShift: UInt64
    /// The address of page 0. The pages aren't written.
    private let start: UnsafeRawPointer
    /// The pages whose checksum was found right, which the owner keeps; nil if the file has no checksums.
    private var checked: Unmanaged<CheckedPages>?

    /// The pages at an address where `byteCount` bytes of the file are mapped.
    init(_ meta: MetaPage, _ start: UnsafeRawPointer, byteCount: Int, isPinned: Bool, _ checked: CheckedPages?) {
        format = meta.format
        transaction = meta.transaction
        self.isPinned = isPinned
        pageCount = min(meta.pageCount, UInt64(byteCount / meta.pageSize))
        pageShift = UInt64(meta.pageSize.trailingZeroBitCount)
        self.start = start
        self.checked = checked.map(Unmanaged.passUnretained)
    }

    /// These pages, without comparing checksums.
    var ignoringChecksums: MappedPages {
        var pages = self
        pages.checked = nil
        return pages
    }

    /// A branch or leaf. Throws `LMDBError.corrupted` if it's missing, its header is wrong or it has no nodes, and
    /// `wrongChecksum`. O(1), or O(bytes) if its checksum is compared
    @inline(__always)
    func page(_ number: PageNumber, _ kind: Page.Kind) throws(LMDBError) -> (page: Page, nodeCount: Int) {
        let page = Page(bytes: try run(number, count: 1), layout: format.layout)
        let (lower, header) = (page.lower, format.layout.headerLength)
        let isRight =
            page.number == number && page.flags == kind.rawValue && page.transaction ?? 0 <= transaction
            && lower > header && lower <= format.pageLength
        let isUnchanged = hasRightChecksum(number, page.bytes)
        try requireUnwritten()
        guard isRight && isUnchanged else { throw isUnchanged ? LMDBError.corrupted : .wrongChecksum }
        return (page, (lower - header) / 2)
    }

    /// A leaf node's value that is on overflow pages.
    @inline(never)
    func value(of node: Page.Node) throws(LMDBError) -> UnsafeRawBufferPointer {
        let reference = node.overflowRun
        let head = Page(bytes: try run(reference.first, count: 1), layout: format.layout)
        let count = UInt64(head.overflowCount)
        let isRight =
            head.number == reference.first && head.flags == Page.Kind.overflow.rawValue
            && head.transaction ?? 0 <= transaction && reference.count ?? count == count
            && count >= format.overflowCount(of: node.valueLength)
        try requireUnwritten()
        guard isRight else { throw LMDBError.corrupted }
        let bytes = try run(reference.first, count: count)
        let isUnchanged = hasRightChecksum(reference.first, bytes)
        try requireUnwritten()
        guard isUnchanged else { throw LMDBError.wrongChecksum }
        let start = format.layout.headerLength
        return UnsafeRawBufferPointer(rebasing: bytes[start..<start + node.valueLength])
    }

    /// Throws `LMDBError.overtaken` if other processes may have overwritten pages of a state that isn't pinned. The
    /// writer after the next one may reuse them, and it begins when the next one has committed.
    @inline(__always)
    func requireUnwritten() throws(LMDBError) {
        if !isPinned && isOvertaken { throw .overtaken }
    }

    @inline(never)
    private var isOvertaken: Bool {
        (0..<2).contains { page in
            let place = page << Int(pageShift) + format.layout.headerLength + MetaPage.transactionOffset
            return start.loadUnaligned(fromByteOffset: place, as: UInt64.self) > transaction + 1
        }
    }

    /// The bytes of successive pages.
    @inline(__always)
    private func run(_ first: PageNumber, count: UInt64) throws(LMDBError) -> UnsafeRawBufferPointer {
        guard first >= MetaPage.count, first < pageCount, count >= 1, count <= pageCount - first else {
            throw LMDBError.corrupted
        }
        return UnsafeRawBufferPointer(
            start: start + Int(truncatingIfNeeded: first << pageShift),
            count: Int(truncatingIfNeeded: count << pageShift)
        )
    }

    /// Whether the checksum of a page or of a run of overflow pages is right, or was right before.
    @inline(__always)
    private func hasRightChecksum(_ first: PageNumber, _ bytes: UnsafeRawBufferPointer) -> Bool {
        checked?._withUnsafeGuaranteedRef { $0.contains(first) || check(first, bytes, $0) } ?? true
    }

    @inline(never)
    private func check(_ first: PageNumber, _ bytes: UnsafeRawBufferPointer, _ checked: CheckedPages) -> Bool {
        guard format.hasRightChecksum(bytes.bytes) else { return false }
        checked.insert(first)
        return true
    }
}

extension MappedPages {
    /// The value of a key of a tree; nil if the key is missing. `flags` are those that the node of a value within its page
    /// must have. O(log n)
    func value(
        of key: UnsafeRawBufferPointer, in tree: TreeRecord, flags: UInt16 = 0
    ) throws(LMDBError) -> UnsafeRawBufferPointer? {
        guard tree.root != TreeRecord.noRoot else { return nil }
        let areIntegers = tree.keys == .integers
        var (number, level) = (tree.root, tree.depth - 1)
        while level > 0 {
            let (page, count) = try page(number, .branch)
            let index = try page.child(for: key, count, areIntegers: areIntegers)
            number = try page.checkedNode(index, isLeaf: false).child
            level -= 1
        }
        let (page, count) = try page(number, .leaf)
        let index = try page.firstNode(from: key, count, areIntegers: areIntegers)
        guard index < count else { return nil }
        let node = try page.checkedNode(index, isLeaf: true)
        let found = page.key(of: node)
        guard found.count == key.count, found.bytes.compare(key.bytes) == 0 else { return nil }
        return try value(of: node, in: page, flags: flags)
    }

    /// A leaf node's value.
    @inline(__always)
    func value(of node: Page.Node, in page: Page, flags: UInt16) throws(LMDBError) -> UnsafeRawBufferPointer {
        if node.flags == flags { return page.bytes(node.valueOffset, node.valueLength) }
        guard node.flags == Page.Node.overflowFlag else { throw LMDBError.corrupted }
        return try value(of: node)
    }
}

// The nodes of a page that nobody has checked.
extension Page {
    /// A node that is within its page. Throws `corrupted` if it isn't.
    @inline(__always)
    func checkedNode(_ index: Int, isLeaf: Bool) throws(LMDBError) -> Node {
        let offset = offset(of: index)
        guard offset + Node.headerLength <= bytes.count else { throw LMDBError.corrupted }
        let node = node(at: offset)
        guard node.keyOffset + node.keyLength <= bytes.count,
            !isLeaf || node.valueOffset + node.storedLength <= bytes.count
        else { throw LMDBError.corrupted }
        return node
    }

    /// The index of a branch's child that can have a key: the last one whose own key, which the first one lacks, isn't
    /// greater. O(log count)
    func child(for key: UnsafeRawBufferPointer, _ count: Int, areIntegers: Bool) throws(LMDBError) -> Int {
        var (low, high) = (1, count)
        while low < high {
            let middle = (low + high) / 2
            let order = try compare(checkedNode(middle, isLeaf: false), key, areIntegers)
            if order <= 0 { low = middle + 1 } else { high = middle }
        }
        return low - 1
    }

    /// The index of a leaf's first key that is `key` or greater, or `count`. O(log count)
    func firstNode(from key: UnsafeRawBufferPointer, _ count: Int, areIntegers: Bool) throws(LMDBError) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            let order = try compare(checkedNode(middle, isLeaf: true), key, areIntegers)
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Compares a node's key with another key.
    @inline(__always)
    func compare(_ node: Node, _ key: UnsafeRawBufferPointer, _ areIntegers: Bool) throws(LMDBError) -> Int {
        guard areIntegers else { return self.key(of: node).bytes.compare(key.bytes) }
        guard node.keyLength == 8, key.count == 8 else { throw LMDBError.corrupted }
        let first = bytes.loadUnaligned(fromByteOffset: node.keyOffset, as: UInt64.self)
        let second = key.loadUnaligned(as: UInt64.self)
        return first < second ? -1 : first == second ? 0 : 1
    }

    @inline(__always)
    func key(of node: Node) -> UnsafeRawBufferPointer { bytes(node.keyOffset, node.keyLength) }

    @inline(__always)
    func bytes(_ offset: Int, _ count: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: bytes.baseAddress.map { $0 + offset }, count: count)
    }
}
