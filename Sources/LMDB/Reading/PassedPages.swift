internal import FetchIndexPlatform

/// Releases the mapped pages behind a long scan, so that they do not count as the process's memory until the scan ends.
/// They stay in the system's cache, and are mapped again when they are read again.
package struct PassedPages {
    private static let most = 16 << 20

    /// Only in a read transaction: the dirty pages of a write transaction must not be released.
    private let isInMap: Bool
    private var first = UInt.max
    private var end: UInt = 0
    private var byteCount = 0

    package init(of view: TransactionView) { isInMap = view.isInMap }

    /// Notes that a value of the transaction was read, and that those before it are not needed any more.
    @inline(__always)
    package mutating func pass(_ value: RawSpan) {
        let address = value.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
        first = min(first, address)
        end = max(end, address)
        byteCount += value.byteCount
        if byteCount >= Self.most { release() }
    }

    /// madvise. A hint: where it fails, nothing is lost.
    private mutating func release() {
        let page = UInt(getpagesize())
        let start = first / page * page
        if isInMap, end > start {
            madvise(UnsafeMutableRawPointer(bitPattern: start), Int(end - start), MADV_DONTNEED)
        }
        (first, end, byteCount) = (.max, 0, 0)
    }
}
