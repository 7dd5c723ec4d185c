/// What LMDB keeps of a tree (its MDB_db): in a meta page, or as the value of a named table in the main tree.
///
///     pad 4 | flags 2 | depth 2 | branch pages 8 | leaf pages 8 | overflow pages 8 | entries 8 | root 8
///
/// LMDB writes numbers as a 64-bit machine has them.
package struct TreeRecord: Equatable {
    static let length = 48
    /// LMDB's limit of a byte key.
    package static let maximumKeyLength = 511
    /// The root of an empty tree.
    static let noRoot = PageNumber.max
    /// LMDB's cursors go no deeper.
    static let maximumDepth = 32
    /// The bits of the free list's flags that say what keys are; the others are of the environment.
    private static let keyFlags: UInt16 = 0x7F
    private static let integerKey: UInt16 = 0x08

    /// In the record of the free list: the page size.
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

    /// How keys are ordered; nil when the flags ask for what this package never writes: duplicates, reversed keys.
    var keys: KeyKind? {
        switch flags {
        case 0: .bytes
        case Self.integerKey: .integers
        default: nil
        }
    }

    /// What is wrong with the record as such, in a file of so many pages; nil when nothing is.
    func defect(pageCount: UInt64) -> String? {
        if keys == nil { return "has flags that this package never writes" }
        if root == Self.noRoot { return depth == 0 ? nil : "has a depth and no root" }
        if root < MetaPage.count || root >= pageCount { return "has its root outside of the file, at page \(root)" }
        return (1...Self.maximumDepth).contains(depth) ? nil : "has the depth \(depth)"
    }
}
