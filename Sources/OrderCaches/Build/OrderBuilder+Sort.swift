internal import LMDB
internal import Models
internal import Records
internal import Sorting

extension OrderBuilder {
    /// Hands out the row keys of all members in order. `replaced` substitutes records; nil excludes one. All records are read
    /// and their keys sorted on several threads. O(n log n).
    func forEachSortedKey(
        from reader: StoreReader, _ source: RecordSource = .all, replacing replaced: [RecordKey: [UInt8]?] = [:],
        _ body: (RawSpan) throws -> Void
    ) throws {
        let sorters =
            try source.objects == nil
            ? Self.sort([self], reader, replacing: replaced)[0] : [sortSome(reader, source, replacing: replaced)]
        try KeySorter.forEachSorted(of: sorters, body)
    }

    private func sortSome(
        _ reader: StoreReader, _ source: RecordSource, replacing replaced: [RecordKey: [UInt8]?]
    ) throws -> KeySorter {
        let sorter = KeySorter(memoryBudget: memoryBudget / 4 * 3, folder: reader.store.path)
        let total = source.objects?.count ?? 0
        var done = 0
        try walkPlaced(of: reader, source, replaced) { object, placement in
            placement.finish(object)
            try sorter.append(placement.key)
            done += 1
            if done % 4096 == 0 { progress(min(done, total), total) }
            return true
        }
        progress(total, total)
        return sorter
    }

    /// The row keys of several orders, from one scan of the records of all their entities. Each order's keys take its share
    /// of its memory.
    static func sort(
        _ builders: [OrderBuilder], _ reader: StoreReader, replacing replaced: [RecordKey: [UInt8]?] = [:]
    ) throws -> [[KeySorter]] {
        let entities = Set(builders.flatMap(\.entities)).sorted()
        let count = try reader.count(of: entities)
        let total = Int(clamping: count)
        let scan = ParallelScan(of: reader, objects: count)
        let parts = scan.threadCount * builders.count
        let orders = try builders.map { builder in
            let threads = try builder.placingThreads(scan.threadCount, of: reader)
            let sorters = threads.map { _ in
                KeySorter(memoryBudget: builder.memoryBudget / 4 * 3 / parts, folder: reader.store.path)
            }
            return (threads: threads, sorters: sorters)
        }
        var done = 0
        for entity in entities {
            // For each thread, one of each order that has the entity.
            var placing: [[(PlacingThread, KeySorter)]] = Array(repeating: [], count: scan.threadCount)
            for (builder, order) in zip(builders, orders) {
                guard let index = builder.entities.firstIndex(of: entity) else { continue }
                for (thread, placer) in order.threads.enumerated() {
                    placer.begin(index)
                    placing[thread].append((placer, order.sorters[thread]))
                }
            }
            nonisolated(unsafe) let threads = placing
            try scan.forEachRecord(of: entity) { thread, _, object, record in
                for (placer, sorter) in threads[thread] {
                    try placer.place(object, record, unless: replaced, in: sorter)
                }
                // The first thread is the caller's.
                guard thread == 0 else { return }
                done += 1
                if done % 4096 == 0 { builders[0].progress(min(done * scan.threadCount, total), total) }
            }
        }
        for (builder, order) in zip(builders, orders) {
            var placement = builder.placement
            for (object, record) in replaced {
                let key = try builder.placer(of: object.entity)?.key(of: object, record, &placement)
                if let key { try order.sorters[0].append(key.bytes) }
            }
        }
        builders[0].progress(total, total)
        return orders.map(\.sorters)
    }

    func placingThreads(_ count: Int, of reader: StoreReader) throws -> [PlacingThread] {
        try (0..<count).map { thread in
            let placers = try entities.map { try (thread == 0 ? placer(of: $0) : placer(of: $0)?.copy()) }
            return PlacingThread(
                placers: placers, placement: placement, passed: releasesPages ? PassedPages(of: reader.view) : nil)
        }
    }

    /// What a thread that places records has of its own.
    final class PlacingThread {
        private let placers: [(any RowPlacer)?]
        private var placer: (any RowPlacer)?
        private var placement: RowPlacement
        private var passed: PassedPages?

        init(placers: [(any RowPlacer)?], placement: RowPlacement, passed: PassedPages?) {
            self.placers = placers
            self.placement = placement
            self.passed = passed
        }

        /// The records of the entity with this index come next.
        func begin(_ entity: Int) { placer = placers[entity] }

        func place(
            _ object: RecordKey, _ record: RawSpan, unless replaced: [RecordKey: [UInt8]?], in sorter: KeySorter
        ) throws {
            passed?.pass(record)
            if !replaced.isEmpty && replaced.index(forKey: object) != nil { return }
            placement.begin()
            if try placer?.place(record, &placement) ?? false {
                placement.finish(object)
                try sorter.append(placement.key)
            }
        }

        func isMember(
            _ object: RecordKey, _ record: RawSpan, replacing replaced: [RecordKey: [UInt8]?]
        ) throws -> Bool {
            placement.begin()
            if !replaced.isEmpty, let replacement = replaced[object] {
                guard let replacement else { return false }
                return try placer?.place(replacement.span.bytes, &placement) ?? false
            }
            return try placer?.place(record, &placement) ?? false
        }
    }
}
