internal import CFetchIndexLMDB
internal import FetchIndexCLibrary

/// Checks that an entry is within its page. Damage can give an entry a length that reaches far outside of its page, and
/// reading that would kill the process. Values in overflow pages, which follow a page header, aren't checked like this.
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

    /// Whether a long value has as many overflow pages as it needs. Returns true for a value that is short enough to
    /// share a page.
    ///
    /// If a transaction overwrites a value with a shorter one, its run keeps its length. The pages that it no longer
    /// needs hold bytes of the longer value, and so don't begin with their own number as pages of others do.
    /// `pageCount` is the number of pages in the newest commit.
    static func hasRightPages(_ value: MDB_val, keyLength: Int, pageLength: Int, pageCount: UInt64) -> Bool {
        let length = Page.Node.headerLength + keyLength + value.mv_size
        guard length > Page.longestNode(pageLength: pageLength), let bytes = value.mv_data else { return true }
        guard let page = overflowPage(of: bytes) else { return false }
        let count = UInt64(page.overflowCount)
        let needed = UInt64(Page.overflowCount(of: value.mv_size, pageLength: pageLength))
        // A dirty run was allocated by LMDB in this transaction, so its length is right.
        if count <= needed || page.isDirty { return count >= needed }
        guard page.number < pageCount, pageCount - page.number >= count, let header = page.bytes.baseAddress else {
            return false
        }
        let following = (header + Int(needed) * pageLength).loadUnaligned(as: PageNumber.self)
        return following != page.number + needed
    }

    @inline(never)
    private func isOverflow(_ bytes: MDB_val, _ offset: Int) -> Bool {
        guard offset == Page.headerLength, let value = bytes.mv_data, let page = Self.overflowPage(of: value) else {
            return false
        }
        return Page.headerLength + bytes.mv_size <= Int(page.overflowCount) * pageLength
    }

    /// The header of the overflow pages that contain a value; nil if the value isn't in overflow pages.
    private static func overflowPage(of value: UnsafeMutableRawPointer) -> Page? {
        let header = UnsafeRawPointer(value) - Page.headerLength
        let page = Page(bytes: UnsafeRawBufferPointer(start: header, count: Page.headerLength))
        return page.flags & Page.Kind.overflow.rawValue != 0 ? page : nil
    }
}
