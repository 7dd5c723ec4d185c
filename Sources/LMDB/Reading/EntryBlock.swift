internal import CLMDB

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

    /// Calls the body with each entry, and meanwhile asks the processor to load what stands as far behind it in the file as the block
    /// is long. In a file that was written in order, this is the next block.
    package func forEachWhilePrefetching(_ body: (UInt64, UnsafeRawBufferPointer) throws -> Void) rethrows {
        let distance = prefetchDistance
        for place in 0..<count {
            let value = values[place]
            if distance > 0 {
                let next = UInt(bitPattern: value.baseAddress) &+ distance
                let length = UInt(min(value.count, Self.mostBytes))
                for line in stride(from: next, to: next &+ length, by: Self.cacheLine) { fi_prefetch(line) }
            }
            try body(keys[place], value)
        }
    }

    /// Zero where the block is not one piece of the file.
    private var prefetchDistance: UInt {
        guard count > 0 else { return 0 }
        let (first, last) = (UInt(bitPattern: values[0].baseAddress), UInt(bitPattern: values[count - 1].baseAddress))
        return last > first && last - first < Self.longestPiece ? last - first : 0
    }

    private static let cacheLine = 64
    /// Of a value; longer ones have pages of their own.
    private static let mostBytes = 4096
    /// More is not in the processor's cache any more when it is read.
    private static let longestPiece: UInt = 1 << 17

    var isFull: Bool { count >= most }

    mutating func removeAll() { count = 0 }

    /// Drops the entries behind the first ones.
    package mutating func keep(first: Int) { count = min(count, first) }

    /// There is room for it.
    mutating func append(_ key: UInt64, _ value: UnsafeRawBufferPointer) {
        (mutableKeys + count).initialize(to: key)
        (mutableValues + count).initialize(to: value)
        count += 1
    }
}
