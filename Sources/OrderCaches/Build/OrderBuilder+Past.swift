internal import FetchIndexModels
internal import FetchIndexRecords
internal import FetchIndexSorting

extension OrderBuilder {
    /// Sorts the row keys that the order had at a past commit, as `SortedEntry`. The order must not read records of
    /// other objects. `past` are the records of each of the order's entities at that commit. O(n log n).
    func sortPast(_ past: [Int: PastRecords], _ reader: StoreReader) throws -> [KeySorter] {
        let scan = try Scan(of: reader, .all, entities: entities, fewestOfThread: 4_000)
        // A comparison needs memory, too, so the keys get less of it than in a build.
        let placers = try blockPlacers(of: scan, besides: [:], sortingIn: memoryBudget / 8 / scan.threadCount)
        for entity in entities {
            guard let past = past[entity] else { continue }
            for placer in placers { placer.begin(entity) }
            try scan.forEachBlock(of: entity, where: placers.map(\.filter)) { thread, block in
                block.keep { object, _ in !past.isChanged(object.number) }
                try placers[thread].sortRows(of: &block)
            } finish: { thread in
                let reader = scan.reader(ofThread: thread)
                try past.forEach(in: reader, part: thread, of: scan.threadCount) { number, record in
                    try placers[thread].sortRow(of: RecordKey(entity: entity, number: number), record)
                }
            }
        }
        return placers.map(\.sorter)
    }
}
