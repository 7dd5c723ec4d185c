internal import CFetchIndexLMDB
internal import FetchIndexCLibrary

/// Prefetches the pages of a walk: from the disk into memory, and from memory into the processor's cache. LMDB's map is
/// opened without the system's read-ahead, because most reads are of a few scattered pages.
struct PageLoader {
    static let systemPageLength = Int(getpagesize())
    private static let cacheLine = 64
    /// The number of bytes to read ahead first, and again after a jump of the walk. Each further request is for four
    /// times as many bytes, up to `mostAhead`.
    private static let leastAhead: UInt = 1 << 17
    private static let mostAhead: UInt = 1 << 20
    /// One page in this many bytes is sampled, and at least one page per request.
    private static let sampled: UInt = 1 << 18
    /// The maximum distance in pages between two reads of a walk that counts as sequential: pages of other tables may
    /// be in between.
    private static let gap: UInt = 16

    /// The number of bits by which an address is shifted to get the number of its page.
    private let shift = UInt(Self.systemPageLength.trailingZeroBitCount)
    private var page: UInt = 0
    /// The pages in first..<end have been requested from the disk, or were probably in memory.
    private var first: UInt = 0
    private var end: UInt = 0
    /// The number of pages of the last request.
    private var ahead: UInt = 0
    /// The page that was last prefetched into the processor's cache before the walk reached it.
    private var prefetched: UInt = 0

    /// Prefetches the page of a value in the map, and possibly pages after it, unless it's the page of the last call.
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
        // Prefetches the next page before the walk reaches it, unless the walk jumped to this page: it may well jump
        // again.
        if passed == 1 {
            prefetched = page + 1
            prefetch(prefetched)
        }
    }

    /// Asks the processor to load a whole page into its cache, without waiting. Does nothing if the page isn't in
    /// memory.
    private func prefetch(_ page: UInt) {
        let start = page &<< shift
        for line in stride(from: start, to: start &+ 1 &<< shift, by: Self.cacheLine) { fi_prefetch(line) }
    }

    /// Asks the system to load pages from the disk. This is a hint: it may fail, or reach beyond the file, without
    /// harm.
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

    /// Whether the sampled pages are in memory, and so probably all pages of the request. Requesting pages that are in
    /// memory would cost much more than sampling. The first page isn't sampled, because the walk may have read it. On
    /// Linux, mincore reports all pages as in memory unless the user owns the file or may write it.
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
