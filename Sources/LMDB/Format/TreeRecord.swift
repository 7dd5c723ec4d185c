/// LMDB's record of a tree (MDB_db). It's in a meta page, or the value of a named table in the main tree.
///
///     pad 4 | flags 2 | depth 2 | branch pages 8 | leaf pages 8 | overflow pages 8 | entries 8 | root 8
///
/// Numbers are in the machine's byte order.
package struct TreeRecord: Equatable {
    static let length = 48
    /// The maximum length of a byte key of LMDB 0.9; 1.0 would allow more.
    package static let maximumKeyLength = 511
    /// The root's page number in the record of an empty tree.
    static let noRoot = PageNumber.max
    /// The maximum depth that LMDB's cursors can follow.
    static let maximumDepth = 32
    /// The bits of the flags that describe keys and duplicates. In the free list's record, the other bits belong to the
    /// environment.
    private static let keyFlags: UInt16 = 0x7F
    private static let integerKey: UInt16 = 0x08

    /// The page size in the free list's record; unused in other records.
    let pad: UInt32
    private let flags: UInt16
    let depth: Int
    let branchPages: UInt64
    let leafPages: UInt64
    let overflowPages: UInt64
    let entries: UInt64
    let root: PageNumber

    init(_ bytes: RawSpan, isFreeList: Bool = false) {
        pad = bytes.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt32.self)
        let stored = bytes.unsafeLoadUnaligned(fromByteOffset: 4, as: UInt16.self)
        flags = isFreeList ? stored & Self.keyFlags : stored
        depth = Int(bytes.unsafeLoadUnaligned(fromByteOffset: 6, as: UInt16.self))
        branchPages = bytes.unsafeLoadUnaligned(fromByteOffset: 8, as: UInt64.self)
        leafPages = bytes.unsafeLoadUnaligned(fromByteOffset: 16, as: UInt64.self)
        overflowPages = bytes.unsafeLoadUnaligned(fromByteOffset: 24, as: UInt64.self)
        entries = bytes.unsafeLoadUnaligned(fromByteOffset: 32, as: UInt64.self)
        root = bytes.unsafeLoadUnaligned(fromByteOffset: 40, as: UInt64.self)
    }

    /// The kind of the keys; nil if the flags are for features that this package doesn't use, such as duplicates or
    /// reversed keys.
    var keys: KeyKind? {
        switch flags {
        case 0: .bytes
        case Self.integerKey: .integers
        default: nil
        }
    }

    /// The numbers of the tree's pages and entries, as the record states them.
    var statistics: TreeStatistics {
        TreeStatistics(
            depth: depth, branchPages: Int(clamping: branchPages), leafPages: Int(clamping: leafPages),
            overflowPages: Int(clamping: overflowPages), entries: Int(clamping: entries))
    }

    /// A defect of the record, in a file of `pageCount` pages; nil if none is found.
    func defect(pageCount: UInt64) -> String? {
        if keys == nil { return "has flags that FetchIndex never writes" }
        if root == Self.noRoot { return depth == 0 ? nil : "has a depth, but no root" }
        if root < MetaPage.count || root >= pageCount { return "has its root outside of the file, at page \(root)" }
        return (1...Self.maximumDepth).contains(depth) ? nil : "has the invalid depth \(depth)"
    }
}
