internal import FetchIndexModels
internal import FetchIndexRecords
internal import FetchIndexSorting

extension OrderBuilder {
    /// Calls the body with the row keys of the first `wanted.most` members (by default all), in ascending order, as
    /// `SortedEntry`. `edits` replace records; nil excludes an object. Several threads may read records and sort keys.
    /// Returns the number of members that were found; if `wanted` counts all, this is the number of all members. O(n
    /// log n).
    @discardableResult
    func forEachSortedKey(
        from reader: StoreReader, _ selection: RecordSelection = .all, replacing edits: [RecordKey: [UInt8]?] = [:],
        wanted: WantedRows = .all, _ body: (RawSpan) throws -> Void
    ) throws -> Int {
        let sorters = try Self.sort([self], reader, selection, replacing: edits, wanted: wanted)[0]
        try KeySorter.forEachSorted(of: sorters, first: wanted.most, body)
        return sorters.reduce(0) { $0 + $1.appendedCount }
    }

    /// Sorts the row keys of several orders in one scan of all their entities' records; of each order at least the
    /// first `wanted.most` keys. The orders share the memory budget. If there is one order, a selection may limit the
    /// records that are read, and edits may replace some of them.
    static func sort(
        _ builders: [OrderBuilder], _ reader: StoreReader, _ selection: RecordSelection = .all,
        replacing edits: [RecordKey: [UInt8]?] = [:], wanted: WantedRows = .all
    ) throws -> [[KeySorter]] {
        let sort = try OrderSort(builders, reader, selection, edits, wanted)
        for entity in sort.entities { try sort.read(entity) }
        try sort.placeEdited()
        return sort.sorters
    }
}

/// Sorts the row keys of several orders in one scan.
///
///     Scan: blocks of records, by thread --> BlockPlacer, by order and thread --> its KeySorter
///     at a thread's last block           --> its keys may be sorted already
///     edited records                     --> the first thread's BlockPlacer of each order
private final class OrderSort {
    /// The entities whose objects are in any of the orders.
    let entities: [Int]
    private let builders: [OrderBuilder]
    private let edits: [RecordKey: [UInt8]?]
    private let wanted: WantedRows
    private let scan: Scan
    /// The placers, by order and then by thread.
    private let placers: [[BlockPlacer]]
    private var progress: Progress

    init(
        _ builders: [OrderBuilder], _ reader: StoreReader, _ selection: RecordSelection,
        _ edits: [RecordKey: [UInt8]?], _ wanted: WantedRows
    ) throws {
        (self.builders, self.edits, self.wanted) = (builders, edits, wanted)
        let entities = Set(builders.flatMap(\.entities)).sorted()
        let stored = builders.count == 1 ? builders[0].stored(selection, besides: edits) : selection
        // Placing a record and sorting its key cost much more than reading it, so fewer records than usual justify a
        // thread.
        let scan = try Scan(of: reader, stored, entities: entities, fewestOfThread: 4_000)
        placers = try builders.map { builder in
            let budget = builder.memoryBudget / 4 * 3 / (scan.threadCount * builders.count)
            return try builder.blockPlacers(of: scan, besides: edits, sortingIn: budget, wanted: wanted)
        }
        progress = Progress(
            total: Int(clamping: try stored.count(of: entities, in: reader)), threads: scan.threadCount,
            builders[0].progress)
        (self.entities, self.scan) = (entities, scan)
    }

    var sorters: [[KeySorter]] { placers.map { $0.map(\.sorter) } }

    /// Places the records of an entity in the orders that contain it.
    func read(_ entity: Int) throws {
        // For each thread, the placers of the orders that contain the entity.
        let placing = (0..<scan.threadCount).map { thread in placers.map { $0[thread] }.filter { $0.begin(entity) } }
        // If only one order contains the entity, a thread can skip records that aren't its members.
        let filters = placing.map { $0.count == 1 ? $0[0].filterOfSorted : nil }
        try builders[0].requiringRecords {
            try scan.forEachBlock(of: entity, where: filters) { thread, block in
                for (index, placer) in placing[thread].enumerated() {
                    if index > 0 { block.selectAll() }
                    try placer.sortRows(of: &block)
                }
                // The first thread is the caller's, so it may call the caller's closure.
                if thread == 0 { progress.note(block.count) }
            } finish: { thread in
                // After the last entity all keys have been appended, unless edited records follow. So each thread can
                // sort its keys.
                guard entity == entities.last, edits.isEmpty else { return }
                for placer in placing[thread] { try placer.sorter.sort(first: wanted.most) }
            }
        }
    }

    func placeEdited() throws {
        for (object, record) in edits {
            guard let record else { continue }
            for threads in placers { try threads[0].sortRow(of: object, record.span.bytes) }
        }
        progress.end()
    }

    /// Reports from time to time about how many records were read. The number is extrapolated from the records that the
    /// first thread has read.
    private struct Progress {
        private static let step = 4096

        private let tell: (_ done: Int, _ total: Int) -> Void
        private let total: Int
        private let threads: Int
        private var (done, told) = (0, 0)

        init(total: Int, threads: Int, _ tell: @escaping (_ done: Int, _ total: Int) -> Void) {
            (self.total, self.threads, self.tell) = (total, threads, tell)
        }

        mutating func note(_ count: Int) {
            done += count
            guard done - told >= Self.step else { return }
            told = done
            tell(min(done * threads, total - 1), total)
        }

        func end() { tell(total, total) }
    }
}
