internal import FetchIndexCLibrary
internal import FetchIndexPlatform

/// Sorts byte keys. If the keys exceed a memory budget, they are written to sorted runs on disk, which are merged at
/// the end. Keys may be equal, but no key may be the beginning of a longer one. Several sorters can be filled on one
/// thread each, and then merged.
package final class KeySorter {
    /// A key in memory: eight of its bytes at the depth being sorted, and the offset of its length and bytes in the
    /// arena.
    struct Entry {
        var cache: UInt64
        let offset: Int
    }

    static let lengthSize = 4
    private static let smallestBudget = 1 << 16
    /// If at most this many keys are merged, passing them to another thread costs more than it saves.
    private static let fewKeys = 50_000

    private let memoryBudget: Int
    /// The folder for runs; nil if the sorter must not write any.
    private let folder: String?
    private var memory: KeysInMemory
    private var runFile: TemporaryFile?
    private(set) var runs: [SortedRun] = []
    private var spilledCount = 0

    /// Creates a sorter that returns at least the `mostWanted` least keys. Greater keys may be dropped while keys are
    /// appended.
    package init(memoryBudget: Int, folder: String?, mostWanted: Int = .max) {
        self.memoryBudget = max(memoryBudget, Self.smallestBudget)
        self.folder = folder
        memory = KeysInMemory(mostWanted: mostWanted)
    }

    deinit { memory.removeAndFree() }

    /// The number of keys that the sorter holds, in memory and in runs. Dropped keys aren't counted.
    package var count: Int { spilledCount + memory.entries.count }

    /// Appended keys that are greater than this one are dropped. Empty if no key has been dropped yet. The bound may
    /// decrease while keys are appended.
    package var bound: [UInt8] { memory.bound }
    /// Whether the sorter drops keys once it has many more than are wanted.
    package var isBounded: Bool { memory.isBounded }

    /// The number of keys that were appended, including dropped keys and keys counted by `countDropped`.
    package var appendedCount: Int { memory.appendedCount }

    /// Counts keys as appended and dropped. The caller didn't build them, because they would be greater than `bound`.
    package func countDropped(_ count: Int) { memory.countDropped(count) }

    /// The number of runs on disk.
    package var runCount: Int { runs.count }

    package func append(_ key: [UInt8]) throws { try append(key.span.bytes) }

    package func append(_ key: RawSpan) throws {
        // Fast path, taken for nearly every row of a build: a single access to a property.
        if memory.append(key, within: memoryBudget) { return }
        // The keys would exceed the budget, or the system has no more memory for them; runs are shorter in the second
        // case.
        if memory.entries.count > 0 { try spill() }
        guard memory.append(key, within: .max) else {
            throw SortingError.noMemory
        }
    }

    /// Calls the body with each key that the sorter holds, in order. O(n log n).
    package func forEachSorted(_ body: (RawSpan) throws -> Void) throws {
        try Self.forEachSorted(of: [self], body)
    }

    /// Merges several sorters: calls the body with the `first` least of their keys, in order. O(n + k log k) for k of n
    /// keys if all keys are in memory, otherwise O(n log n). If the system gives threads, sorters that aren't sorted
    /// yet are sorted in parallel, and a merge of many keys of several sorters runs on a second thread.
    package static func forEachSorted(
        of sorters: [KeySorter], first: Int = .max, _ body: (RawSpan) throws -> Void
    ) throws {
        let unsorted = sorters.filter { !$0.isSorted(first: first) }
        if !unsorted.isEmpty { try Threads.run(unsorted.count) { try unsorted[$0].sort(first: first) } }
        let count = min(first, sorters.reduce(0) { $0 + $1.count })
        guard sorters.count > 1, count > Self.fewKeys else { return try merge(sorters, first: first, body) }
        try Threads.pipe(2, capacity: 4) { deliver in
            var block = KeyBlock()
            try merge(sorters, first: first) { key in
                block.append(key)
                if block.isFull { try deliver(block.take()) }
            }
            try deliver(block)
        } consume: { block in
            try block.forEach(body)
        }
    }

    private static func merge(
        _ sorters: [KeySorter], first: Int, _ body: (RawSpan) throws -> Void
    ) throws {
        let runCount = sorters.reduce(0) { $0 + $1.runCount }
        let budget = sorters.reduce(0) { $0 + $1.memoryBudget }
        let sources =
            sorters.map { KeyMerger.Source(memory: $0.sortedEntries, of: $0.memory.keys.bytes) }
            + sorters.flatMap(\.runs).map {
                KeyMerger.Source(run: $0, bufferLength: max(budget / (runCount + 1), 1 << 16))
            }
        try withExtendedLifetime(sorters) { try KeyMerger.merge(sources, first: first, body) }
    }

    private var sortedEntries: UnsafeBufferPointer<Entry> { UnsafeBufferPointer(memory.entries.elements) }

    /// Sorts the keys in memory, so that a merge of the `first` least keys can begin immediately. If the sorter has
    /// runs, writes all keys in memory to another run, since reading the runs needs the memory.
    package func sort(first: Int = .max) throws {
        if isSorted(first: first) { return }
        if !runs.isEmpty && memory.entries.count > 0 { return try spill(isLast: true) }
        memory.sort(first: first)
    }

    private func isSorted(first: Int) -> Bool {
        runs.isEmpty ? memory.isSorted(first: first) : memory.entries.count == 0
    }

    private func spill(isLast: Bool = false) throws {
        guard let folder else { throw SortingError.noMemory }
        let file: TemporaryFile
        do { file = try runFile ?? TemporaryFile(inFolder: folder, prefix: "sort") } catch let error as SystemError {
            throw SortingError.fileFailed(error)
        }
        runFile = file
        let run = SortedRun(in: file)
        memory.sort(first: .max)
        let keys = memory.keys.bytes
        for entry in memory.entries.elements { try run.append(MultikeyQuicksort.key(of: entry, in: keys).bytes) }
        try run.finish()
        runs.append(run)
        spilledCount += memory.entries.count
        if isLast { memory.removeAndFree() } else { memory.removeAll() }
    }
}

/// Keys in memory, each after its length, and one entry per key.
private struct KeysInMemory {
    private(set) var keys = Memory<UInt8>()
    private(set) var entries = Memory<KeySorter.Entry>()
    /// The number of entries at the beginning that are in their final places.
    private var sortedCount = 0
    /// The number of keys that were appended, including dropped, spilled and never built ones.
    private(set) var appendedCount = 0

    /// If more keys than this are wanted, no keys are dropped: sorting all keys costs little more.
    private static let manyWanted = 50_000
    private let mostWanted: Int
    /// When the number of keys reaches this number, all except the wanted ones are dropped.
    private let fullCount: Int
    /// The greatest key that was kept when greater keys were last dropped; empty if no key has been dropped.
    private(set) var bound: [UInt8] = []

    init(mostWanted: Int) {
        self.mostWanted = max(1, mostWanted)
        fullCount = mostWanted > Self.manyWanted ? .max : max(4 * mostWanted, 256)
    }

    var isBounded: Bool { fullCount < .max }

    mutating func countDropped(_ count: Int) { appendedCount += count }

    mutating func removeAndFree() {
        keys.removeAndFree()
        entries.removeAndFree()
        sortedCount = 0
    }

    mutating func removeAll() {
        keys.removeAll()
        entries.removeAll()
        sortedCount = 0
    }

    /// Appends a key, or drops it if it's greater than `bound`. Returns false if the keys would exceed the budget, or
    /// if the system has no more memory.
    mutating func append(_ key: RawSpan, within budget: Int) -> Bool {
        if !bound.isEmpty && key.compare(bound.span.bytes) > 0 {
            appendedCount += 1
            return true
        }
        let needed = key.byteCount + KeySorter.lengthSize
        let byteCount = keys.count + needed + (entries.count + 1) * MemoryLayout<KeySorter.Entry>.stride
        guard byteCount <= budget, keys.reserve(needed), entries.reserve(1) else { return false }
        sortedCount = 0
        appendedCount += 1
        entries.append(KeySorter.Entry(cache: 0, offset: keys.count))
        keys.append(key)
        if entries.count >= fullCount { dropUnwanted() }
        return true
    }

    /// Drops all keys except the `mostWanted` least ones, unless the system has no memory for copying these. O(n + k
    /// log k) for k of n.
    private mutating func dropUnwanted() {
        sort(first: mostWanted)
        var kept = KeysInMemory(mostWanted: mostWanted)
        for entry in entries.elements[..<mostWanted] {
            guard kept.append(MultikeyQuicksort.key(of: entry, in: keys.bytes).bytes, within: .max) else {
                return kept.removeAndFree()
            }
        }
        kept.sortedCount = mostWanted
        kept.appendedCount = appendedCount
        kept.bound = [UInt8](copying: MultikeyQuicksort.key(of: entries.elements[mostWanted - 1], in: keys.bytes).bytes)
        removeAndFree()
        self = kept
    }

    func isSorted(first: Int) -> Bool { sortedCount >= min(first, entries.count) }

    /// Sorts the entries, so that at least the `first` least ones are in their final places.
    mutating func sort(first: Int) {
        if isSorted(first: first) { return }
        sortedCount = min(first, entries.count)
        MultikeyQuicksort.sort(entries.elements, in: keys.bytes, first: first)
    }
}

/// An array whose memory is from `realloc`, which often grows it in place. The owner must free it; a class that did so
/// could be retained and released for each key.
private struct Memory<Element: BitwiseCopyable> {
    private var start: UnsafeMutablePointer<Element>?
    private var capacity = 0
    private(set) var count = 0

    mutating func removeAndFree() {
        free(start)
        self = Memory()
    }

    var elements: UnsafeMutableBufferPointer<Element> { UnsafeMutableBufferPointer(start: start, count: count) }
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(elements) }

    /// Makes room for `added` more elements. Returns false if the system has no more memory.
    mutating func reserve(_ added: Int) -> Bool {
        if count + added <= capacity { return true }
        let wanted = max(count + added, 2 * capacity, 1 << 10)
        guard let grown = realloc(start, wanted * MemoryLayout<Element>.stride) else { return false }
        start = grown.assumingMemoryBound(to: Element.self)
        capacity = wanted
        return true
    }

    /// Appends an element. The caller has reserved room for it.
    mutating func append(_ element: Element) {
        start?[count] = element
        count += 1
    }

    mutating func removeAll() { count = 0 }
}

extension Memory<UInt8> {
    /// Appends a key's length and bytes. The caller has reserved room for them.
    mutating func append(_ key: RawSpan) {
        guard let start else { return }
        let end = UnsafeMutableRawPointer(start + count)
        end.storeBytes(of: UInt32(key.byteCount), as: UInt32.self)
        key.withUnsafeBytes { bytes in
            if let base = bytes.baseAddress {
                (end + KeySorter.lengthSize).copyMemory(from: base, byteCount: bytes.count)
            }
        }
        count += KeySorter.lengthSize + key.byteCount
    }
}
