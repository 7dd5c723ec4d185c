internal import CFetchIndexLMDB

/// The overflow pages of a value that a write transaction has in hand.
enum OverflowPages {
    /// Whether the run of a long value's overflow pages has the right length. Returns true for a value that is short
    /// enough to share a page.
    ///
    /// A run may be longer than its value needs: it keeps its length when the transaction that wrote the value
    /// overwrites it with a shorter one. The surplus pages contain bytes of the longer value. A page that doesn't
    /// belong to the run usually begins with its own page number; so if the first surplus page does, the run's length
    /// is taken for damaged. `pageCount` is the number of pages in the newest commit, and `transaction` the write
    /// transaction.
    static func areRight(
        for value: MDB_val, keyLength: Int, _ format: PageFormat, pageCount: UInt64, in transaction: UInt64
    ) -> Bool {
        let length = Page.Node.headerLength + format.layout.storedKeyLength(keyLength) + value.mv_size
        guard length > format.longestNode, let bytes = value.mv_data else { return true }
        let header = UnsafeRawPointer(bytes) - format.layout.headerLength
        let page = Page(
            bytes: UnsafeRawBufferPointer(start: header, count: format.layout.headerLength), layout: format.layout)
        guard page.flags & Page.Kind.overflow.rawValue != 0 else { return false }
        let count = UInt64(page.overflowCount)
        let needed = UInt64(format.overflowCount(of: value.mv_size))
        // A run that LMDB allocated in this transaction has the right length.
        if count <= needed || page.isChanged(by: transaction) { return count >= needed }
        guard page.number < pageCount, pageCount - page.number >= count else { return false }
        let following = (header + Int(needed) * format.pageLength).loadUnaligned(as: PageNumber.self)
        return following != page.number + needed
    }
}
