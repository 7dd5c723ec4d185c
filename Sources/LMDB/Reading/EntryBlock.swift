/// Entries of a table of integer keys that are read together. They point into the transaction's pages, and are valid
/// until the transaction writes or ends.
package struct EntryBlock: ~Copyable {
    /// The maximum number of entries: few enough that the entries of a usual table fit into a processor core's cache.
    package static let capacity = 128

    /// The keys. Here and in `values`, only the first `count` elements are valid. The memory is valid while the block
    /// exists.
    package let keys: UnsafePointer<UInt64>
    package let values: UnsafePointer<UnsafeRawBufferPointer>
    private let mutableKeys = UnsafeMutablePointer<UInt64>.allocate(capacity: Self.capacity)
    private let mutableValues = UnsafeMutablePointer<UnsafeRawBufferPointer>.allocate(capacity: Self.capacity)
    package private(set) var count = 0
    /// The number of entries at which the block counts as full, at most the capacity.
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

    /// Removes all entries except the first `first` ones.
    package mutating func keep(first: Int) { count = min(count, first) }

    /// Appends an entry. The block must not be full.
    mutating func append(_ key: UInt64, _ value: UnsafeRawBufferPointer) {
        (mutableKeys + count).initialize(to: key)
        (mutableValues + count).initialize(to: value)
        count += 1
    }
}
