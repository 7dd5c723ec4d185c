internal import FetchIndexLMDB
internal import FetchIndexModels
internal import FetchIndexRecords
internal import FetchIndexSorting

extension OrderBuilder {
    /// Hands out the row keys of all members, or of the first, in order, as `SortedEntry`. `replaced` substitutes records; nil
    /// excludes one. All records are read and their keys sorted on several threads. Returns how many members were met: all, if they
    /// are to be counted. O(n log n).
    @discardableResult
    func forEachSortedKey(
        from reader: StoreReader, _ source: RecordSource = .all, replacing replaced: [RecordKey: [UInt8]?] = [:],
        wanted: WantedRows = .all, _ body: (RawSpan) throws -> Void
    ) throws -> Int {
        let sorters =
            try source.objects == nil
            ? Self.sort([self], reader, source, replacing: replaced, wanted: wanted)[0]
            : [sortSome(reader, source, replacing: replaced, wanted)]
        try KeySorter.forEachSorted(of: sorters, first: wanted.most, body)
        return sorters.reduce(0) { $0 + $1.appendedCount }
    }

    private func sortSome(
        _ reader: StoreReader, _ source: RecordSource, replacing replaced: [RecordKey: [UInt8]?], _ wanted: WantedRows
    ) throws -> KeySorter {
        let sorter = KeySorter(memoryBudget: memoryBudget / 4 * 3, folder: reader.store.path, mostWanted: wanted.most)
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
    /// take its share of its memory. With one order, `source` may limit which records are read.
    static func sort(
        _ builders: [OrderBuilder], _ reader: StoreReader, _ source: RecordSource = .all,
        replacing replaced: [RecordKey: [UInt8]?] = [:], wanted: WantedRows = .all
    ) throws -> [[KeySorter]] {
        let entities = Set(builders.flatMap(\.entities)).sorted()
        let all = try reader.count(of: entities)
        let count = all - min(all, source.skippedCount)
        let total = Int(clamping: count)
        // To place a record and sort its key costs much more than to look at it.
        let scan = ParallelScan(of: reader, objects: count, fewestOfThread: 4_000)
        let orders = try builders.map { builder in
            let budget = builder.memoryBudget / 4 * 3 / (scan.threadCount * builders.count)
            return try builder.placingThreads(
                scan, of: reader, replacing: replaced, sortingIn: budget, wanted: wanted)
        }
        var (done, told) = (0, 0)
        for entity in entities {
            // For each thread, those of the orders that have the entity.
            let placing = (0..<scan.threadCount).map { thread in
                zip(builders, orders).compactMap { builder, threads -> PlacingThread? in
                    guard let index = builder.entities.firstIndex(of: entity) else { return nil }
                    threads[thread].begin(index)
                    return threads[thread]
                }
            }
            // Of an order alone, a thread need not read what is no member.
            let filters = placing.map { $0.count == 1 ? $0[0].filterOfSorted() : nil }
            try scan.forEachBlock(of: entity, in: source.numbers(of: entity), where: filters) { thread, block in
                for (index, order) in placing[thread].enumerated() {
                    if index > 0 { block.selectAll() }
                    try order.place(&block, unless: replaced)
                }
                // The first thread is the caller's, and may read more than its share.
                guard thread == 0 else { return }
                done += block.count
                if done - told >= 4096 {
                    told = done
                    builders[0].progress(min(done * scan.threadCount, total - 1), total)
                }
            } finish: { thread in
                // Where no record is substituted, the keys are all there.
                guard entity == entities.last, replaced.isEmpty else { return }
                for order in placing[thread] { try order.sorter.sort(first: wanted.most) }
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
        sortingIn budget: Int = 0, wanted: WantedRows = .all
    ) throws -> [PlacingThread] {
        let bounds = SharedBound()
        return try (0..<scan.threadCount).map { thread in
            let placers = try entities.map { try (thread == 0 ? placer(of: $0) : placer(of: $0)?.copy()) }
            return PlacingThread(
                placers: placers, placement: placement, shape: shape,
                related: relatedState(of: scan.reader(ofThread: thread), replacing: replaced),
                passed: releasesPages ? PassedPages(of: reader.view) : nil,
                sorter: KeySorter(memoryBudget: budget, folder: reader.store.path, mostWanted: wanted.most),
                countsMembers: wanted.countsAll, bounds: bounds)
        }
    }

    /// What a thread that places records has of its own.
    final class PlacingThread {
        private let placers: [(any RowPlacer)?]
        private var placer: (any RowPlacer)?
        private var placement: RowPlacement
        private let shape: OrderShape
        /// Where the records that paths lead to are read; nil without paths.
        private let related: (any RecordState)?
        private var passed: PassedPages?
        let sorter: KeySorter
        private let countsMembers: Bool
        private let bounds: SharedBound

        init(
            placers: [(any RowPlacer)?], placement: RowPlacement, shape: OrderShape, related: (any RecordState)?,
            passed: PassedPages?, sorter: KeySorter, countsMembers: Bool, bounds: SharedBound
        ) {
            self.placers = placers
            self.placement = placement
            self.shape = shape
            self.related = related
            self.passed = passed
            self.sorter = sorter
            self.countsMembers = countsMembers
            self.bounds = bounds
        }

        /// The records of the entity with this index come next.
        func begin(_ entity: Int) { placer = placers[entity] }

        /// Places the selected records of a block, but those that are replaced, and sorts their keys.
        func place(_ block: inout RecordBlock, unless replaced: [RecordKey: [UInt8]?]) throws {
            guard let placer else { return }
            defer { releasePages(behind: block) }
            if !replaced.isEmpty { block.keep { object, _ in replaced.index(forKey: object) == nil } }
            // Not the properties of the class: each access to one would be checked for exclusivity, several times for each record.
            let (shape, related, sorter) = (shape, related, sorter)
            var placement = placement
            placement.bound = sorter.bound
            var droppedCount = 0
            if related == nil {
                // Whether a record is beyond the bound costs less than most predicates.
                if !countsMembers { try placer.keepRecords(of: &block, within: placement.bound) }
                try placer.keepMembers(of: &block)
                if countsMembers {
                    droppedCount = block.selectedCount
                    try placer.keepRecords(of: &block, within: placement.bound)
                    droppedCount -= block.selectedCount
                }
            }
            try block.forEach { object, record in
                placement.begin()
                if let related {
                    guard try placer.place(object, record, in: related, &placement) else { return }
                } else {
                    try placer.placeMember(record, &placement)
                }
                if placement.isBeyondBound {
                    droppedCount += 1
                    return
                }
                placement.finishEntry(object, in: shape)
                try sorter.append(placement.key)
            }
            sorter.countDropped(droppedCount)
        }

        private func releasePages(behind block: borrowing RecordBlock) {
            // Out of the object, as above.
            guard var passed else { return }
            block.forEachOfAll { _, record in passed.pass(record) }
            self.passed = passed
        }

        /// What a scan may leave out: what is no member.
        func filter(alsoReading objects: [UInt64]) -> ScanFilter? {
            placer.flatMap { ScanFilter($0.columnTests, alsoReading: objects) }
        }

        /// The same, and what comes after the rows that are wanted and were found so far.
        func filterOfSorted() -> ScanFilter? {
            guard let placer else { return nil }
            if countsMembers || related != nil || !sorter.isBounded || !placer.hasBounds {
                return filter(alsoReading: [])
            }
            return ScanFilter(placer.columnTests) { [sorter, bounds] values in
                placer.mayHaveRecords(within: bounds.least(with: sorter.bound), values)
            }
        }

        /// Keeps, of the selected records of a block, those of members, by what replaces them where it does.
        func keepMembers(of block: inout RecordBlock, replacing replaced: [RecordKey: [UInt8]?]) throws {
            guard let placer else { return block.keep { _, _ in false } }
            if related == nil && replaced.isEmpty { return try placer.keepMembers(of: &block) }
            var placement = placement
            try block.keep { object, record in
                placement.begin()
                guard !replaced.isEmpty, let replacement = replaced[object] else {
                    return try placer.place(object, record, related, &placement)
                }
                guard let replacement else { return false }
                return try placer.place(object, replacement.span.bytes, related, &placement)
            }
        }
    }
}
