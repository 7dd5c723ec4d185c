internal import CFetchIndexLMDB
internal import FetchIndexCLibrary

/// Checks that an entry is within its page, unless its value has overflow pages, which begin with a header. Damage in a
/// page can give an entry a length that reaches far outside of it, and reading that would end the process.
struct PageBounds {
    static let systemPageLength = Int(getpagesize())

    /// If pages aren't known, so long that nothing reaches out of it.
    private let pageLength: Int

    /// Pages are known if all of them are in the map, and as long as the system's.
    init(areKnown: Bool) { pageLength = areKnown ? Self.systemPageLength : 1 << 62 }

    @inline(__always)
    func contain(_ bytes: MDB_val) -> Bool {
        let offset = Int(bitPattern: bytes.mv_data) & (pageLength - 1)
        return offset &+ bytes.mv_size <= pageLength || isOverflow(bytes, offset)
    }

    /// Whether a value that is too long to share a page with other entries has the overflow pages that it needs.
    ///
    /// A run keeps its length when one transaction overwrites its value with a shorter one. The pages that it no longer
    /// needs then hold bytes of the longer value, and don't begin with their own number as pages of others do.
    /// `pageCount` is the number of pages of the newest commit.
    static func hasRightPages(_ value: MDB_val, keyLength: Int, pageLength: Int, pageCount: UInt64) -> Bool {
        let length = Page.Node.headerLength + keyLength + value.mv_size
        guard length > Page.longestNode(pageLength: pageLength), let bytes = value.mv_data else { return true }
        guard let page = overflowPage(of: bytes) else { return false }
        let count = UInt64(page.overflowCount)
        let needed = UInt64(Page.overflowCount(of: value.mv_size, pageLength: pageLength))
        // LMDB has allocated a dirty run itself.
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

    /// The header of the overflow pages that a value follows; nil if it doesn't follow one.
    private static func overflowPage(of value: UnsafeMutableRawPointer) -> Page? {
        let header = UnsafeRawPointer(value) - Page.headerLength
        let page = Page(bytes: UnsafeRawBufferPointer(start: header, count: Page.headerLength))
        return page.flags & Page.Kind.overflow.rawValue != 0 ? page : nil
    }
}
