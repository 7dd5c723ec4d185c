internal import CFetchIndexLMDB
internal import FetchIndexCLibrary

/// Checks that an entry is within its page. A damaged length could reach far outside of the page, and reading that far
/// could kill the process. A value in overflow pages must be within its run of pages instead.
struct PageBounds {
    static let systemPageLength = Int(getpagesize())

    /// The page length; if it isn't known, a number so great that every entry is within bounds.
    private let pageLength: Int

    /// `areKnown` says that all pages are in the map, and are as long as the system's.
    init(areKnown: Bool) { pageLength = areKnown ? Self.systemPageLength : 1 << 62 }

    @inline(__always)
    func contain(_ bytes: MDB_val) -> Bool {
        let offset = Int(bitPattern: bytes.mv_data) & (pageLength - 1)
        return offset &+ bytes.mv_size <= pageLength || isOverflow(bytes, offset)
    }

    /// Whether the run of a long value's overflow pages has the right length. Returns true for a value that is short
    /// enough to share a page.
    ///
    /// A run may be longer than its value needs: it keeps its length when the transaction that wrote the value
    /// overwrites it with a shorter one. The surplus pages contain bytes of the longer value. A page that doesn't
    /// belong to the run usually begins with its own page number; so if the first surplus page does, the run's length
    /// is taken for damaged. `pageCount` is the number of pages in the newest commit, and `transaction` the write
    /// transaction.
    static func hasRightPages(
        _ value: MDB_val, keyLength: Int, pageLength: Int, pageCount: UInt64, in transaction: UInt64
    ) -> Bool {
        let layout = PageLayout.linked
        let length = Page.Node.headerLength + layout.storedKeyLength(keyLength) + value.mv_size
        guard length > layout.longestNode(pageLength: pageLength), let bytes = value.mv_data else { return true }
        guard let page = overflowPage(of: bytes) else { return false }
        let count = UInt64(page.overflowCount)
        let needed = UInt64(layout.overflowCount(of: value.mv_size, pageLength: pageLength))
        // A run that LMDB allocated in this transaction has the right length.
        if count <= needed || page.isChanged(by: transaction) { return count >= needed }
        guard page.number < pageCount, pageCount - page.number >= count, let header = page.bytes.baseAddress else {
            return false
        }
        let following = (header + Int(needed) * pageLength).loadUnaligned(as: PageNumber.self)
        return following != page.number + needed
    }

    @inline(never)
    private func isOverflow(_ bytes: MDB_val, _ offset: Int) -> Bool {
        guard offset == PageLayout.linked.headerLength, let value = bytes.mv_data,
            let page = Self.overflowPage(of: value)
        else {
            return false
        }
        return PageLayout.linked.headerLength + bytes.mv_size <= Int(page.overflowCount) * pageLength
    }

    /// The header of the overflow pages that contain a value; nil if the value isn't in overflow pages.
    private static func overflowPage(of value: UnsafeMutableRawPointer) -> Page? {
        let length = PageLayout.linked.headerLength
        let header = UnsafeRawPointer(value) - length
        let page = Page(bytes: UnsafeRawBufferPointer(start: header, count: length), layout: .linked)
        return page.flags & Page.Kind.overflow.rawValue != 0 ? page : nil
    }
}
