internal import LMDB
internal import Models
internal import Records
internal import Sorting

extension OrderBuilder {
    /// Hands out the row keys of all members, or of the first, in order, as `SortedEntry`. `replaced` substitutes records; nil
    /// excludes one. All records are read and their keys sorted on several threads. O(n log n).
    func forEachSortedKey(
        from reader: StoreReader, _ source: RecordSource = .all, replacing replaced: [RecordKey: [UInt8]?] = [:],
        first: Int = .max, _ body: (RawSpan) throws -> Void
    ) throws {
        let sorters =
            try source.objects == nil
            ? Self.sort([self], reader, replacing: replaced, first: first)[0]
            : [sortSome(reader, source, replacing: replaced, first: first)]
        try KeySorter.forEachSorted(of: sorters, first: first, body)
    }

    private func sortSome(
        _ reader: StoreReader, _ source: RecordSource, replacing replaced: [RecordKey: [UInt8]?], first: Int
    ) throws -> KeySorter {
        let sorter = KeySorter(memoryBudget: memoryBudget / 4 * 3, folder: reader.store.path, mostWanted: first)
        let total = source.objects?.count ?? 0
        let shape = shape
        var done = 0
        try walkPlaced(of: reader, source, replaced) { object, placement in
            placement.finishEntry(object, in: shape)
            try sorter.append(placement.key)
            done += 1
            if done % 4096 == 0 { progress(min(done, total), total) }
            return true
        }
        progress(total, total)
        return sorter
    }

    /// The row keys of several orders, or of each the first, from one scan of the records of all their entities. Each order's keys
    /// take its share of its memory.
    static func sort(
        _ builders: [OrderBuilder], _ reader: StoreReader, replacing replaced: [RecordKey: [UInt8]?] = [:],
        first: Int = .max
    ) throws -> [[KeySorter]] {
        let entities = Set(builders.flatMap(\.entities)).sorted()
        let count = try reader.count(of: entities)
        let total = Int(clamping: count)
        let scan = ParallelScan(of: reader, objects: count)
        let orders = try builders.map { builder in
            let budget = builder.memoryBudget / 4 * 3 / (scan.threadCount * builders.count)
            return try builder.placingThreads(
                scan, of: reader, replacing: replaced, sortingIn: budget, first: first)
        }
        var done = 0
        for entity in entities {
            // For each thread, those of the orders that have the entity: unmanaged, because retaining them for each record
            // would cost a sixth of a scan.
            var placing: [Unmanaged<PlacingThread>] = []
            for thread in 0..<scan.threadCount {
                for (builder, threads) in zip(builders, orders) {
                    guard let index = builder.entities.firstIndex(of: entity) else { continue }
                    threads[thread].begin(index)
                    placing.append(.passUnretained(threads[thread]))
                }
            }
            let each = placing.count / scan.threadCount
            try placing.withUnsafeBufferPointer { placing in
                try scan.forEachRecord(of: entity) { thread, _, object, record in
                    for index in thread * each..<(thread + 1) * each {
                        try placing[index]._withUnsafeGuaranteedRef {
                            try $0.place(object, record, unless: replaced)
                        }
                    }
                    // The first thread is the caller's, and may read more than its share.
                    guard thread == 0 else { return }
                    done += 1
                    if done % 4096 == 0 { builders[0].progress(min(done * scan.threadCount, total - 1), total) }
                }
            }
        }
        for (builder, threads) in zip(builders, orders) {
            var placement = builder.placement
            let related = builder.relatedState(of: reader, replacing: replaced)
            for (object, record) in replaced {
                guard let record, let placer = try builder.placer(of: object.entity) else { continue }
                placement.begin()
                guard try placer.place(object, record.span.bytes, related, &placement) else { continue }
                placement.finishEntry(object, in: builder.shape)
                try threads[0].sorter.append(placement.key)
            }
        }
        builders[0].progress(total, total)
        return orders.map { $0.map(\.sorter) }
    }

    func placingThreads(
        _ scan: ParallelScan, of reader: StoreReader, replacing replaced: [RecordKey: [UInt8]?],
        sortingIn budget: Int = 0, first: Int = .max
    ) throws -> [PlacingThread] {
        try (0..<scan.threadCount).map { thread in
            let placers = try entities.map { try (thread == 0 ? placer(of: $0) : placer(of: $0)?.copy()) }
            return PlacingThread(
                placers: placers, placement: placement, shape: shape,
                related: relatedState(of: scan.reader(ofThread: thread), replacing: replaced),
                passed: releasesPages ? PassedPages(of: reader.view) : nil,
                sorter: KeySorter(memoryBudget: budget, folder: reader.store.path, mostWanted: first))
        }
    }

    /// What a thread that places records has of its own.
    final class PlacingThread {
        /// Not a property of the class: each access to one would be checked for exclusivity, several times for each record.
        private struct State {
            var placer: (any RowPlacer)?
            var placement: RowPlacement
            var passed: PassedPages?
            let shape: OrderShape
            let sorter: KeySorter
            /// Where the records that paths lead to are read.
            let related: (any RecordState)?
            let hasRelated: Bool

            mutating func place(_ object: RecordKey, _ record: RawSpan) throws {
                guard try isMember(object, record) else { return }
                placement.finishEntry(object, in: shape)
                try sorter.append(placement.key)
            }

            mutating func isMember(_ object: RecordKey, _ record: RawSpan) throws -> Bool {
                placement.begin()
                if hasRelated { return try placer?.place(object, record, related, &placement) ?? false }
                return try placer?.place(record, &placement) ?? false
            }
        }

        private let placers: [(any RowPlacer)?]
        private let state: UnsafeMutablePointer<State>
        let sorter: KeySorter

        init(
            placers: [(any RowPlacer)?], placement: RowPlacement, shape: OrderShape, related: (any RecordState)?,
            passed: PassedPages?, sorter: KeySorter
        ) {
            self.placers = placers
            self.sorter = sorter
            state = .allocate(capacity: 1)
            state.initialize(
                to: State(
                    placement: placement, passed: passed, shape: shape, sorter: sorter, related: related,
                    hasRelated: related != nil))
        }

        deinit {
            state.deinitialize(count: 1)
            state.deallocate()
        }

        /// The records of the entity with this index come next.
        func begin(_ entity: Int) { state.pointee.placer = placers[entity] }

        func place(_ object: RecordKey, _ record: RawSpan, unless replaced: [RecordKey: [UInt8]?]) throws {
            state.pointee.passed?.pass(record)
            if !replaced.isEmpty && replaced.index(forKey: object) != nil { return }
            try state.pointee.place(object, record)
        }

        func isMember(
            _ object: RecordKey, _ record: RawSpan, replacing replaced: [RecordKey: [UInt8]?]
        ) throws -> Bool {
            if !replaced.isEmpty, let replacement = replaced[object] {
                guard let replacement else { return false }
                return try state.pointee.isMember(object, replacement.span.bytes)
            }
            return try state.pointee.isMember(object, record)
        }
    }
}
