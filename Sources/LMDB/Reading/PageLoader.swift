internal import CLMDB
internal import SystemBasics

/// Loads the pages of a walk before they are read: from the disk into memory, and from memory into the processor's cache. LMDB's map
/// is opened without the system's read-ahead, because most reads are of few pages, here and there.
struct PageLoader {
    private static let pageLength: UInt = 4096
    private static let cacheLine = 64
    /// Bytes that are asked for together.
    private static let readAhead: UInt = 1 << 20
    private static let sampleCount: UInt = 4
    /// A walk reads ahead when it goes on this near behind the last page: other tables' pages may stand between.
    private static let gap: UInt = 16

    private var page: UInt = 0
    /// Pages before this one have been asked for.
    private var end: UInt = 0
    /// Accumulates the bytes that are loaded, so that the compiler does not remove the loads.
    private var loaded: UInt8 = 0

    /// Loads the page of a value in the map; nothing when it is the same as the last time. Does not reach out of the map, because
    /// LMDB's pages are whole multiples of these.
    @inline(__always)
    mutating func load(_ value: MDB_val) {
        let page = UInt(bitPattern: value.mv_data) / Self.pageLength
        if page != self.page { load(page) }
    }

    private mutating func load(_ page: UInt) {
        let passed = page &- self.page
        self.page = page
        if passed <= Self.gap { readAhead(of: page) }
        guard let start = UnsafeRawPointer(bitPattern: page * Self.pageLength) else { return }
        // All lines at once, so that the misses overlap.
        var loaded: UInt8 = 0
        for line in stride(from: 0, to: Int(Self.pageLength), by: Self.cacheLine) {
            loaded &+= start.load(fromByteOffset: line, as: UInt8.self)
        }
        self.loaded &+= loaded
    }

    /// A hint: where it fails, or reaches beyond the file, nothing happens.
    private mutating func readAhead(of page: UInt) {
        let length = Self.readAhead / Self.pageLength
        let isAhead = page < end && end - page < 2 * length
        if isAhead && end - page > length / 2 { return }
        if !isAhead { end = page }
        if !isInMemory(end, length) {
            madvise(Self.start(of: end), Int(Self.readAhead), MADV_WILLNEED)
        }
        end += length
    }

    /// Whether some of the pages are in memory, and so probably all: to ask for pages that are costs much more. mincore, which says
    /// so of all pages to who neither owns the file nor may write it.
    private func isInMemory(_ first: UInt, _ length: UInt) -> Bool {
        for page in stride(from: first, to: first + length, by: Int(length / Self.sampleCount)) {
            #if canImport(Darwin)
                var isInMemory: CChar = 0
            #else
                var isInMemory: UInt8 = 0
            #endif
            guard mincore(Self.start(of: page), Int(Self.pageLength), &isInMemory) == 0, isInMemory & 1 != 0 else {
                return false
            }
        }
        return true
    }

    /// The system's page, which may be longer, that a page is in.
    private static func start(of page: UInt) -> UnsafeMutableRawPointer? {
        let systemLength = UInt(PageBounds.systemPageLength)
        return UnsafeMutableRawPointer(bitPattern: page * pageLength / systemLength * systemLength)
    }
}
