/// A buffer that is cleared and refilled many times, mostly without a new allocation. Clearing sets only the count: the
/// old bytes stay in memory until they are overwritten.
@usableFromInline
package struct ReusedBytes {
    /// The current bytes up to `end`, followed by unused bytes.
    @usableFromInline var storage: [UInt8] = []
    @usableFromInline var end = 0

    @inlinable
    package init() {}

    @inlinable
    package var count: Int { end }

    @inlinable
    package var bytes: RawSpan {
        @_lifetime(borrow self)
        borrowing get { storage.span.bytes.extracting(first: end) }
    }

    @inlinable
    package mutating func removeAll() { end = 0 }

    @inlinable @inline(__always)
    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        if storage.count - end < bytes.count { makeRoom(bytes.count) }
        storage.withUnsafeMutableBytes { storage in
            UnsafeMutableRawBufferPointer(rebasing: storage[end...]).copyMemory(from: bytes)
        }
        end += bytes.count
    }

    @inline(never)
    @usableFromInline
    mutating func makeRoom(_ count: Int) {
        storage.append(contentsOf: [UInt8](repeating: 0, count: max(count, storage.count, 64)))
    }
}
