/// Entries of a table of integer keys that are read together, in place: valid until their transaction writes or ends.
package struct EntryBlock: ~Copyable {
    /// The maximum number of entries: few enough that those of a usual table fit into a core's cache.
    package static let capacity = 128

    /// Only the first `count` elements belong to the block. The memory is valid while the block lives.
    package let keys: UnsafePointer<UInt64>
    package let values: UnsafePointer<UnsafeRawBufferPointer>
    private let mutableKeys = UnsafeMutablePointer<UInt64>.allocate(capacity: Self.capacity)
    private let mutableValues = UnsafeMutablePointer<UnsafeRawBufferPointer>.allocate(capacity: Self.capacity)
    package private(set) var count = 0
    /// The maximum number of entries that are read into the block, up to the capacity.
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

    /// Drops all but the first entries.
    package mutating func keep(first: Int) { count = min(count, first) }

    /// Appends an entry. The caller makes sure that there is room.
    mutating func append(_ key: UInt64, _ value: UnsafeRawBufferPointer) {
        (mutableKeys + count).initialize(to: key)
        (mutableValues + count).initialize(to: value)
        count += 1
    }
}
