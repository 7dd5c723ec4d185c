/// Entries of a table of integer keys that are read together, in place: valid until their transaction writes or ends.
package struct EntryBlock: ~Copyable {
    /// Few enough that the entries of a usual table fit into a core's cache.
    package static let capacity = 128

    /// The first `count` elements of each belong to the block. The memory is valid while the block lives.
    package let keys: UnsafePointer<UInt64>
    package let values: UnsafePointer<UnsafeRawBufferPointer>
    private let mutableKeys = UnsafeMutablePointer<UInt64>.allocate(capacity: Self.capacity)
    private let mutableValues = UnsafeMutablePointer<UnsafeRawBufferPointer>.allocate(capacity: Self.capacity)
    package private(set) var count = 0
    /// The most entries that are read into it, up to the capacity.
    package var most = EntryBlock.capacity

    package init() {
        keys = UnsafePointer(mutableKeys)
        values = UnsafePointer(mutableValues)
    }

    deinit {
        mutableKeys.deallocate()
        mutableValues.deallocate()
    }

    package var isFull: Bool { count >= most }

    package mutating func removeAll() { count = 0 }

    /// Drops the entries behind the first ones.
    package mutating func keep(first: Int) { count = min(count, first) }

    /// There is room for it.
    mutating func append(_ key: UInt64, _ value: UnsafeRawBufferPointer) {
        (mutableKeys + count).initialize(to: key)
        (mutableValues + count).initialize(to: value)
        count += 1
    }
}
