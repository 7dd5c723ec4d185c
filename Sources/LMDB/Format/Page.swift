/// A page as LMDB writes it, in the map or read from the file. The accessors don't validate: their caller must have
/// checked the fields and offsets that they use.
///
///     version 1   page number 8 | pad 2 | flags 2 | lower 2 | upper 2 | offset of each node 2 | free room | nodes
///     version 3   page number 8 | transaction 8 | pad 2 | flags 2 | lower 2 | upper 2 | ...
///
///     branch node   child's number 6 | key length 2 | key                     the first node's key is unused
///     leaf node     value length 4 | flags 2 | key length 2 | key | value, or a reference to its overflow pages
///     reference     page number 8            in version 3: page number 8 | transaction 8 | number of pages 8
///
/// In version 1, offsets are counted from the page's beginning; in version 3, they are counted from its header's end,
/// and a leaf's key is padded to an even length. The first page of a run of overflow pages has the number of the run's
/// pages, in 4 bytes, instead of lower and upper. The other pages of the run have no header. A meta page's header is
/// followed by its contents, see `MetaPage`.
struct Page {
    enum Kind: UInt16 {
        case branch = 1
        case leaf = 2
        case overflow = 4
        case meta = 8

        var name: String { "\(self) page" }
    }

    /// The bytes of the page, or of its header alone.
    let bytes: UnsafeRawBufferPointer
    let layout: PageLayout

    @inline(__always)
    private func number<Number: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as: Number.Type) -> Number {
        bytes.loadUnaligned(fromByteOffset: offset, as: Number.self)
    }

    var number: PageNumber { number(at: 0, as: UInt64.self) }
    /// The transaction that wrote the page; nil in version 1. In a write transaction, LMDB gives the pages that the
    /// transaction has changed a greater number than its own.
    var transaction: UInt64? { layout == .version1 ? nil : number(at: 8, as: UInt64.self) }
    @inline(__always)
    var flags: UInt16 { number(at: layout.headerLength - 6, as: UInt16.self) }
    /// Whether a write transaction has made or changed the page. In version 1, a flag (P_DIRTY) says so while the page
    /// is in the transaction's memory. In version 3, the page has the transaction's number, or while it's in memory, the
    /// next multiple of 16.
    func isChanged(by transaction: UInt64) -> Bool {
        guard let number = self.transaction else { return flags & 0x10 != 0 }
        return number == transaction || number == (transaction | 15) + 1
    }
    /// The offset in the page at which its free room begins.
    @inline(__always)
    var lower: Int { layout.base + Int(number(at: layout.headerLength - 4, as: UInt16.self)) }
    /// The offset in the page at which its free room ends.
    @inline(__always)
    var upper: Int { layout.base + Int(number(at: layout.headerLength - 2, as: UInt16.self)) }
    var overflowCount: UInt32 { number(at: layout.headerLength - 4, as: UInt32.self) }

    @inline(__always)
    var nodeCount: Int { (lower - layout.headerLength) / 2 }

    /// The offset of a node in the page.
    @inline(__always)
    func offset(of index: Int) -> Int {
        layout.base + Int(number(at: layout.headerLength + 2 * index, as: UInt16.self))
    }

    @inline(__always)
    func node(at offset: Int) -> Node { Node(page: bytes, layout: layout, offset: offset) }

    @inline(__always)
    func node(_ index: Int) -> Node { node(at: offset(of: index)) }
}

extension Page {
    /// A node of a page: a key with a child's number or a value.
    struct Node {
        static let headerLength = 8
        /// The flag of a value that is in overflow pages.
        static let overflowFlag: UInt16 = 1
        /// The flag of a value that is the tree record of a named table.
        static let tableFlag: UInt16 = 2

        let page: UnsafeRawBufferPointer
        let layout: PageLayout
        /// The offset of the node in its page.
        let offset: Int
        // The header is read once, so that another process can't change it between a check and a use.
        let valueLength: Int
        let flags: UInt16
        let keyLength: Int

        @inline(__always)
        init(page: UnsafeRawBufferPointer, layout: PageLayout, offset: Int) {
            self.page = page
            self.layout = layout
            self.offset = offset
            valueLength = Int(page.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
            flags = page.loadUnaligned(fromByteOffset: offset + 4, as: UInt16.self)
            keyLength = Int(page.loadUnaligned(fromByteOffset: offset + 6, as: UInt16.self))
        }

        /// The number of a branch node's child.
        var child: PageNumber { UInt64(valueLength) | UInt64(flags) << 32 }

        /// The offset of the key in the page.
        var keyOffset: Int { offset + Self.headerLength }
        /// The offset in the page of a leaf's value, or of the reference to its overflow pages.
        var valueOffset: Int { keyOffset + layout.storedKeyLength(keyLength) }
        /// The number of bytes that a node's value takes in its leaf.
        var storedLength: Int { flags & Self.overflowFlag == 0 ? valueLength : layout.overflowReferenceLength }
        /// The run of overflow pages of a long value.
        var overflowRun: OverflowRun {
            func number(at offset: Int) -> UInt64 {
                page.loadUnaligned(fromByteOffset: valueOffset + offset, as: UInt64.self)
            }
            var run = OverflowRun(first: number(at: 0))
            if layout == .version3 { (run.transaction, run.count) = (number(at: 8), number(at: 16)) }
            return run
        }
    }
}

/// A leaf's reference to the run of overflow pages that has a long value.
struct OverflowRun {
    let first: PageNumber
    /// The transaction that wrote the run, and the number of its pages; nil in version 1, which has them in the run's
    /// header only.
    var transaction: UInt64?
    var count: UInt64?
}
