/// A page as LMDB 0.9 writes it, in the map or read from the file. The accessors don't validate: their caller must have
/// checked the fields and offsets that they use.
///
///     page number 8 | pad 2 | flags 2 | lower 2 | upper 2 | offset of each node 2 | free room | nodes
///
///     branch node   child's number 6 | key length 2 | key                     the first node's key is unused
///     leaf node     value length 4 | flags 2 | key length 2 | key | value, or the number of its overflow page 8
///
/// The first page of a run of overflow pages has the number of the run's pages, in 4 bytes, instead of lower and upper.
/// The other pages of the run have no header. A meta page's header is followed by its contents, see `MetaPage`.
struct Page {
    enum Kind: UInt16 {
        case branch = 1
        case leaf = 2
        case overflow = 4
        case meta = 8

        var name: String { "\(self) page" }
    }

    static let headerLength = 16

    /// The bytes of the page, or of its header alone.
    let bytes: UnsafeRawBufferPointer

    @inline(__always)
    private func number<Number: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as: Number.Type) -> Number {
        bytes.loadUnaligned(fromByteOffset: offset, as: Number.self)
    }

    var number: PageNumber { number(at: 0, as: UInt64.self) }
    var flags: UInt16 { number(at: 10, as: UInt16.self) }
    /// Whether the page is in the memory of a write transaction, which has changed or made it (P_DIRTY). Pages on disk
    /// aren't dirty.
    var isDirty: Bool { flags & 0x10 != 0 }
    var lower: Int { Int(number(at: 12, as: UInt16.self)) }
    var upper: Int { Int(number(at: 14, as: UInt16.self)) }
    var overflowCount: UInt32 { number(at: 12, as: UInt32.self) }

    var nodeCount: Int { (lower - Self.headerLength) / 2 }

    @inline(__always)
    func offset(of index: Int) -> Int { Int(number(at: Self.headerLength + 2 * index, as: UInt16.self)) }

    @inline(__always)
    func node(at offset: Int) -> Node { Node(page: bytes, offset: offset) }

    func node(_ index: Int) -> Node { node(at: offset(of: index)) }

    /// The number of overflow pages that a value needs.
    static func overflowCount(of byteCount: Int, pageLength: Int) -> Int {
        (headerLength + byteCount - 1) / pageLength + 1
    }

    /// The maximum length of a leaf's node. If a node would be longer, its value is stored in overflow pages.
    static func longestNode(pageLength: Int) -> Int { (pageLength - headerLength) / 2 / 2 * 2 - 2 }
}

extension Page {
    /// A node of a page: a key with a child's number or a value.
    struct Node {
        static let headerLength = 8
        /// The flag of a value that is in overflow pages.
        static let overflowFlag: UInt16 = 1
        /// The flag of a value that is the tree record of a named table.
        static let tableFlag: UInt16 = 2
        /// The length of the number of an overflow page, which is stored instead of a long value.
        private static let overflowNumberLength = 8

        let page: UnsafeRawBufferPointer
        /// The offset of the node in its page.
        let offset: Int

        @inline(__always)
        private func number<Number: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as: Number.Type) -> Number {
            page.loadUnaligned(fromByteOffset: self.offset + offset, as: Number.self)
        }

        var valueLength: Int { Int(number(at: 0, as: UInt32.self)) }
        var flags: UInt16 { number(at: 4, as: UInt16.self) }
        var keyLength: Int { Int(number(at: 6, as: UInt16.self)) }
        /// The number of a branch node's child.
        var child: PageNumber { UInt64(number(at: 0, as: UInt32.self)) | UInt64(flags) << 32 }

        /// The offset of the key in the page.
        var keyOffset: Int { offset + Self.headerLength }
        /// The offset in the page of a leaf's value, or of the number of its overflow page.
        var valueOffset: Int { keyOffset + keyLength }
        /// The number of bytes that a node's value takes in its leaf.
        var storedLength: Int { flags & Self.overflowFlag == 0 ? valueLength : Self.overflowNumberLength }
        var overflowPage: PageNumber { number(at: valueOffset - offset, as: UInt64.self) }
    }
}
