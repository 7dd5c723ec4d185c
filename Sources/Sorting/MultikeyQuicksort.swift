internal import FetchIndexPlatform

/// Caching multikey quicksort: Bentley and Sedgewick, "Fast Algorithms for Sorting and Searching Strings" (1997), with
/// eight bytes of each key cached in its entry (Rantala's variant). This saves many comparisons from reading the keys
/// themselves.
enum MultikeyQuicksort {
    typealias Entry = KeySorter.Entry

    private static let cacheLength = 8
    private static let smallCount = 12

    static func key(of entry: Entry, in arena: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let length = arena.loadUnaligned(fromByteOffset: entry.offset, as: UInt32.self)
        let start = entry.offset + 4
        return UnsafeRawBufferPointer(rebasing: arena[start..<start + Int(length)])
    }

    /// Sorts keys, so that at least the `first` least ones are in their final places. O(n + k log k) for k of n keys.
    static func sort(
        _ entries: UnsafeMutableBufferPointer<Entry>, in arena: UnsafeRawBufferPointer, first: Int = .max
    ) {
        load(entries, in: arena, depth: 0)
        // Keys often arrive in order.
        if isSorted(entries, in: arena) { return }
        // More than twice the depth of balanced partitions. If adversarial keys exceed this depth, they are sorted by
        // comparison.
        let limit = 2 * (Int.bitWidth - entries.count.leadingZeroBitCount) + 8
        sort(entries, in: arena, depth: 0, limit: limit, first: first)
    }

    /// Sorts keys that are equal up to `depth`. The caches of their entries hold the next eight bytes.
    private static func sort(
        _ entries: UnsafeMutableBufferPointer<Entry>, in arena: UnsafeRawBufferPointer, depth: Int, limit: Int,
        first: Int
    ) {
        var entries = entries
        var depth = depth
        var first = first
        while entries.count > smallCount {
            if limit == 0 {
                entries.sort { isLess($0, $1, in: arena, depth: depth) }
                return
            }
            let (less, equal) = partition(entries, by: pivot(of: entries))
            sort(part(entries, 0..<less), in: arena, depth: depth, limit: limit - 1, first: first)
            if first > equal {
                let greater = part(entries, equal..<entries.count)
                sort(greater, in: arena, depth: depth, limit: limit - 1, first: first - equal)
            }
            first -= less
            if first <= 0 { return }
            entries = part(entries, less..<equal)
            depth += cacheLength
            guard load(entries, in: arena, depth: depth) else { return }
        }
        insertionSort(entries, in: arena, depth: depth)
    }

    private static func part(
        _ entries: UnsafeMutableBufferPointer<Entry>, _ range: Range<Int>
    ) -> UnsafeMutableBufferPointer<Entry> {
        UnsafeMutableBufferPointer(rebasing: entries[range])
    }

    /// Fills the caches of entries with the keys' bytes at `depth`. Returns false if no key is longer than `depth`, so
    /// that all keys are equal.
    @discardableResult
    private static func load(
        _ entries: UnsafeMutableBufferPointer<Entry>, in arena: UnsafeRawBufferPointer, depth: Int
    ) -> Bool {
        var hasMore = false
        for index in entries.indices {
            let key = key(of: entries[index], in: arena)
            hasMore = hasMore || key.count > depth
            entries[index].cache = cache(of: key, at: depth)
        }
        return hasMore
    }

    private static func cache(of key: UnsafeRawBufferPointer, at depth: Int) -> UInt64 {
        if depth + cacheLength <= key.count {
            return UInt64(bigEndian: key.loadUnaligned(fromByteOffset: depth, as: UInt64.self))
        }
        var cache: UInt64 = 0
        for offset in 0..<cacheLength {
            cache = cache << 8 | (depth + offset < key.count ? UInt64(key[depth + offset]) : 0)
        }
        return cache
    }

    /// The median of three caches; for many entries, the median of three such medians.
    private static func pivot(of entries: UnsafeMutableBufferPointer<Entry>) -> UInt64 {
        func median(_ a: UInt64, _ b: UInt64, _ c: UInt64) -> UInt64 { max(min(a, b), min(max(a, b), c)) }
        func near(_ index: Int, _ step: Int) -> UInt64 {
            median(entries[index - step].cache, entries[index].cache, entries[index + step].cache)
        }
        let middle = entries.count / 2
        let eighth = entries.count / 8
        if entries.count < 100 { return near(middle, middle / 2) }
        return median(near(eighth, eighth / 2), near(middle, eighth), near(entries.count - eighth - 1, eighth / 2))
    }

    /// Dijkstra's three-way partition into less, equal and greater keys. Returns the bounds of the equal part.
    private static func partition(
        _ entries: UnsafeMutableBufferPointer<Entry>, by pivot: UInt64
    ) -> (less: Int, equal: Int) {
        var less = 0
        var index = 0
        var greater = entries.count
        while index < greater {
            let cache = entries[index].cache
            if cache < pivot {
                entries.swapAt(less, index)
                less += 1
                index += 1
            } else if cache > pivot {
                greater -= 1
                entries.swapAt(index, greater)
            } else {
                index += 1
            }
        }
        return (less, greater)
    }

    private static func isSorted(
        _ entries: UnsafeMutableBufferPointer<Entry>, in arena: UnsafeRawBufferPointer
    ) -> Bool {
        entries.indices.dropFirst().allSatisfy { !isLess(entries[$0], entries[$0 - 1], in: arena, depth: 0) }
    }

    private static func insertionSort(
        _ entries: UnsafeMutableBufferPointer<Entry>, in arena: UnsafeRawBufferPointer, depth: Int
    ) {
        guard entries.count > 1 else { return }
        for index in 1..<entries.count {
            let entry = entries[index]
            var hole = index
            while hole > 0 && isLess(entry, entries[hole - 1], in: arena, depth: depth) {
                entries[hole] = entries[hole - 1]
                hole -= 1
            }
            entries[hole] = entry
        }
    }

    private static func isLess(_ left: Entry, _ right: Entry, in arena: UnsafeRawBufferPointer, depth: Int) -> Bool {
        if left.cache != right.cache { return left.cache < right.cache }
        let leftKey = key(of: left, in: arena)
        let rightKey = key(of: right, in: arena)
        let start = depth + cacheLength
        if start >= leftKey.count || start >= rightKey.count { return leftKey.count < rightKey.count }
        let leftRest = UnsafeRawBufferPointer(rebasing: leftKey[start...])
        let rightRest = UnsafeRawBufferPointer(rebasing: rightKey[start...])
        return leftRest.bytes.compare(rightRest.bytes) < 0
    }
}
