internal import CFetchIndexLMDB
internal import FetchIndexCLibrary

/// Loads the pages of a walk before they are read: from the disk into memory, and from memory into the processor's
/// cache. LMDB's map is opened without the system's read-ahead, because most reads are of a few scattered pages.
struct PageLoader {
    private static let cacheLine = 64
    /// The bytes of one read-ahead: the least where a walk begins or jumps, four times as many each time it goes on.
    private static let leastAhead: UInt = 1 << 17
    private static let mostAhead: UInt = 1 << 20
    /// One page is sampled in this many bytes.
    private static let sampled: UInt = 1 << 18
    /// The maximum distance in pages at which a walk counts as going on: pages of other tables may be in between.
    private static let gap: UInt = 16

    /// A page's number is the high bits of its address.
    private let shift = UInt(PageBounds.systemPageLength.trailingZeroBitCount)
    private var page: UInt = 0
    /// Pages in first..<end have been requested, `ahead` of them the last time.
    private var first: UInt = 0
    private var end: UInt = 0
    private var ahead: UInt = 0
    /// The page that was prefetched last.
    private var prefetched: UInt = 0

    /// Loads the page of a value in the map, unless it's the page of the last call.
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
        // Prefetches the next page, before the walk comes to it. A walk that jumped here may well jump again.
        if passed == 1 {
            prefetched = page + 1
            prefetch(prefetched)
        }
    }

    /// Asks the processor to load all lines of a page, without waiting. Nothing happens if the page isn't mapped.
    private func prefetch(_ page: UInt) {
        let start = page &<< shift
        for line in stride(from: start, to: start &+ 1 &<< shift, by: Self.cacheLine) { fi_prefetch(line) }
    }

    /// Requests pages from the disk. A hint: nothing happens if it fails or reaches beyond the file.
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

    /// Whether sampled pages are in memory, and so probably all are: to request such pages costs much more. The first
    /// page isn't sampled, because the walk may have read it. mincore, which reports all pages as in memory to a user
    /// who neither owns the file nor may write it.
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
