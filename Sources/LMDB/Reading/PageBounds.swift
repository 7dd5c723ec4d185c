internal import CFetchIndexLMDB
internal import FetchIndexPlatform

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

    /// Whether a value that is too long to share a page with other entries has exactly as many overflow pages as it
    /// needs.
    static func hasRightPages(_ value: MDB_val, keyLength: Int, pageLength: Int) -> Bool {
        let length = Page.Node.headerLength + keyLength + value.mv_size
        guard length > Page.longestNode(pageLength: pageLength), let bytes = value.mv_data else { return true }
        let pages = overflowPages(of: bytes)
        return pages == Page.overflowCount(of: value.mv_size, pageLength: pageLength)
    }

    @inline(never)
    private func isOverflow(_ bytes: MDB_val, _ offset: Int) -> Bool {
        guard offset == Page.headerLength, let value = bytes.mv_data, let pages = Self.overflowPages(of: value) else {
            return false
        }
        return Page.headerLength + bytes.mv_size <= pages * pageLength
    }

    /// The number of overflow pages of a value that follows their header; nil if it doesn't.
    private static func overflowPages(of value: UnsafeMutableRawPointer) -> Int? {
        let header = UnsafeRawPointer(value) - Page.headerLength
        let page = Page(bytes: UnsafeRawBufferPointer(start: header, count: Page.headerLength))
        return page.flags & Page.Kind.overflow.rawValue != 0 ? Int(page.overflowCount) : nil
    }
}
