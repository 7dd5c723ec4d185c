internal import LMDB

/// Sorts byte keys, none of which is a prefix of another, in bounded memory: what does not fit is written to sorted runs on
/// disk, which are merged at the end.
struct KeySorter {
    /// A key in the arena: eight of its bytes at the depth being sorted, and where its length and bytes are.
    struct Entry {
        var cache: UInt64
        let offset: Int
    }

    private static let lengthSize = 4
    private static let smallestBudget = 1 << 16

    private let memoryBudget: Int
    /// Where runs are made.
    private let folder: String
    private var arena: [UInt8] = []
    private var entries: [Entry] = []
    private var runs: [SortedRun] = []
    private(set) var count = 0

    init(memoryBudget: Int, folder: String) {
        var budget = max(memoryBudget, Self.smallestBudget)
        // A growing array needs three times its old size for a moment; the process may have a memory limit.
        while budget > Self.smallestBudget, !Environment.hasRoom(for: 4 * budget) { budget /= 2 }
        self.memoryBudget = budget
        self.folder = folder
    }

    /// How many runs went to disk.
    var runCount: Int { runs.count }

    mutating func append(_ key: [UInt8]) throws {
        let needed = arena.count + key.count + Self.lengthSize + (entries.count + 1) * MemoryLayout<Entry>.stride
        if needed > memoryBudget && !entries.isEmpty { try spill() }
        entries.append(Entry(cache: 0, offset: arena.count))
        withUnsafeBytes(of: UInt32(key.count)) { arena.append(contentsOf: $0) }
        arena.append(contentsOf: key)
        count += 1
    }

    /// Calls the body with all keys in order, once. O(n log n).
    mutating func forEachSorted(_ body: (RawSpan) throws -> Void) throws {
        if runs.isEmpty {
            try forEachInMemory(body)
            return
        }
        if !entries.isEmpty { try spill() }
        arena = []
        entries = []
        try RunMerger.merge(runs, bufferLength: max(memoryBudget / (runs.count + 1), 1 << 16), body)
    }

    private mutating func spill() throws {
        let run = try SortedRun(inFolder: folder)
        try forEachInMemory { try run.append($0) }
        try run.finish()
        runs.append(run)
        arena.removeAll(keepingCapacity: true)
        entries.removeAll(keepingCapacity: true)
    }

    private mutating func forEachInMemory(_ body: (RawSpan) throws -> Void) throws {
        try arena.withUnsafeBytes { arena in
            try entries.withUnsafeMutableBufferPointer { entries in
                MultikeyQuicksort.sort(entries, in: arena)
                for entry in entries { try body(MultikeyQuicksort.key(of: entry, in: arena).bytes) }
            }
        }
    }
}
