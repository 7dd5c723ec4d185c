internal import CFetchIndexLMDB
internal import FetchIndexPlatform

/// Loads the pages of a walk before they are read: from the disk into memory, and from memory into the processor's cache. LMDB's map
/// is opened without the system's read-ahead, because most reads are of few pages, here and there.
struct PageLoader {
    private static let cacheLine = 64
    /// Bytes that are asked for together: few where a walk begins or jumps, four times as many each time it goes on.
    private static let leastAhead: UInt = 1 << 17
    private static let mostAhead: UInt = 1 << 20
    /// In so many bytes, one page is looked at.
    private static let sampled: UInt = 1 << 18
    /// A walk reads ahead when it goes on this near behind the last page: other tables' pages may stand between.
    private static let gap: UInt = 16

    /// A page's number is the high bits of its address.
    private let shift = UInt(PageBounds.systemPageLength.trailingZeroBitCount)
    private var page: UInt = 0
    /// The pages from the first one to the end have been asked for, so many of them the last time.
    private var first: UInt = 0
    private var end: UInt = 0
    private var ahead: UInt = 0
    /// The page that was prefetched last.
    private var prefetched: UInt = 0

    /// Loads the page of a value in the map; nothing when it is the same as the last time.
    @inline(__always)
    mutating func load(_ value: MDB_val) {
        let page = UInt(bitPattern: value.mv_data) &>> shift
        if page != self.page { load(page) }
    }

    private mutating func load(_ page: UInt) {
        let passed = page &- self.page
        self.page = page
        if passed <= Self.gap { readAhead(of: page) }
        if page != prefetched { prefetch(page) }
        // The next page, so that it is there when the walk comes to it. A walk that jumped here may well jump again.
        if passed == 1 {
            prefetched = page + 1
            prefetch(prefetched)
        }
    }

    /// Asks the processor to load all lines of a page at once, and does not wait. Nothing happens where there is no page.
    private func prefetch(_ page: UInt) {
        let start = page &<< shift
        for line in stride(from: start, to: start &+ 1 &<< shift, by: Self.cacheLine) { fi_prefetch(line) }
    }

    /// A hint: where it fails, or reaches beyond the file, nothing happens.
    private mutating func readAhead(of page: UInt) {
        if page >= first && page <= end + Self.gap {
            if page + ahead / 2 < end { return }
            ahead = min(4 * ahead, Self.mostAhead >> shift)
            end = max(end, page)
        } else {
            (first, end, ahead) = (page, page, Self.leastAhead >> shift)
        }
        if !isInMemory(end, ahead) {
            madvise(start(of: end), Int(ahead << shift), MADV_WILLNEED)
        }
        end += ahead
    }

    /// Whether some pages among these are in memory, and so probably all: to ask for pages that are costs much more. The first one is
    /// not looked at, because the walk may have read it. mincore, which says so of all pages to who neither owns the file nor may write it.
    private func isInMemory(_ first: UInt, _ length: UInt) -> Bool {
        let step = min(length, Self.sampled >> shift)
        for page in stride(from: first + step - 1, to: first + length, by: Int(step)) {
            #if canImport(Darwin)
                var isInMemory: CChar = 0
            #else
                var isInMemory: UInt8 = 0
            #endif
            guard mincore(start(of: page), 1 << shift, &isInMemory) == 0, isInMemory & 1 != 0 else {
                return false
            }
        }
        return true
    }

    private func start(of page: UInt) -> UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: page << shift) }
}
