internal import FetchIndexCLibrary

/// Unmaps the pages that a long scan has passed: otherwise they would count as the process's memory. The pages may stay
/// in the system's cache, and are mapped again when they are read.
package struct PassedPages {
    private static let most = 16 << 20

    /// Whether pages may be unmapped: in a read transaction only, because a write transaction has dirty pages.
    private let isInMap: Bool
    private var first = UInt.max
    private var end: UInt = 0
    private var byteCount = 0

    package init(of view: TransactionView) { isInMap = view.isInMap }

    /// Records that a value was read, and that the values before it aren't needed any more.
    @inline(__always)
    package mutating func pass(_ value: RawSpan) {
        let address = value.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
        first = min(first, address)
        end = max(end, address)
        byteCount += value.byteCount
        if byteCount >= Self.most { release() }
    }

    /// Unmaps the passed pages with madvise, a hint that may fail without harm.
    private mutating func release() {
        let page = UInt(getpagesize())
        let start = first / page * page
        if isInMap, end > start {
            madvise(UnsafeMutableRawPointer(bitPattern: start), Int(end - start), MADV_DONTNEED)
        }
        (first, end, byteCount) = (.max, 0, 0)
    }
}
