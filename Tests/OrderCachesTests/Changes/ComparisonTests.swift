import FetchIndexModels
import FetchIndexPlatform
import FetchIndexRecords
import FetchIndexTestSupport
import Testing

@testable import FetchIndexOrderCaches

/// Two states of an order compared row by row. The change must equal that which is computed from the changed records.
@Suite struct ComparisonTests {
    /// Changes about a share of the rows: updates, deletions and insertions. With few ranks, many rows have equal sort
    /// keys; with many, an update may move a row by a little or far.
    private func change(
        _ rows: inout [UInt64: TestRow], share: Double, _ writer: StoreWriter, _ generator: inout SeededGenerator,
        groups: Int, ranks: Int64
    ) throws {
        for (number, row) in rows.sorted(by: { $0.key < $1.key })
        where Double.random(in: 0..<1, using: &generator) < share {
            let object = RecordKey(entity: 0, number: number)
            var changed = row
            switch Int.random(in: 0..<6, using: &generator) {
            case 0:
                try writer.delete(object)
                rows[number] = nil
                continue
            case 1: changed.note += 1
            case 2: changed.rank += Int64.random(in: -1...1, using: &generator)
            default: changed = .random(using: &generator, groups: groups, ranks: ranks)
            }
            let record = try changed.record()
            try writer.update(object, record.span.bytes)
            rows[number] = changed
        }
        for _ in 0..<Int(share * Double.random(in: 0...40, using: &generator)) {
            let row = TestRow.random(using: &generator, groups: groups, ranks: ranks)
            let record = try row.record()
            rows[try writer.insert(0, record.span.bytes).number] = row
        }
    }

    @Test(arguments: TestOrder.all, 0..<8 as Range<UInt64>)
    func aComparisonGivesTheChangeThatTheLogGives(order: TestOrder, seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed &+ TestSettings.seed &* 100)
        let test = try TestStore(model: TestRow.model, threads: 1)
        let caches = CacheEngine(test.store)
        let request = try order.request()
        let groups = Int.random(in: 0...6, using: &generator)
        let ranks = ([2, 30, 1000] as [Int64]).randomElement(using: &generator)!
        var rows: [UInt64: TestRow] = [:]
        try test.write { writer in
            for _ in 0..<[0, 5, 60, 400].randomElement(using: &generator)! {
                let row = TestRow.random(using: &generator, groups: groups, ranks: ranks)
                let record = try row.record()
                rows[try writer.insert(0, record.span.bytes).number] = row
            }
        }
        for round in 0..<4 {
            let before = try test.store.snapshot()
            let old = try CacheEngine.compute(request, in: before).order
            let share = [0.02, 0.3, 0.9, 1].randomElement(using: &generator)!
            // More commits than one: an object may change several times, and back.
            for _ in 0..<Int.random(in: 1...2, using: &generator) {
                try test.write {
                    try change(&rows, share: share, $0, &generator, groups: groups, ranks: ranks)
                }
            }
            let after = try test.store.snapshot()
            let new = try CacheEngine.compute(request, in: after).order
            let compared = try OrderComparison.change(from: ComparedRows(of: old), to: new) {
                var updated = SparseSet()
                try after.forEachChanged(of: 0, from: before.commit) { updated.insert($0.rawValue) }
                return updated
            }
            let sorted = try caches.compare(request.builder, to: new, since: before.commit, in: after)
            let expected = try caches.change(of: request.builder, to: new, since: before.commit, in: after)
            let context: Comment = "\(order), seed \(seed), round \(round), share \(share)"
            #expect(compared == expected, context)
            #expect(sorted == expected, context)
            #expect(compared.replay(on: try old.objects()) == (try new.objects()), context)
        }
    }

    @Test func aSetFindsElementsInARange() {
        var generator = SeededGenerator(seed: TestSettings.seed)
        for _ in 0..<200 {
            let count = Int.random(in: 1...300, using: &generator)
            let elements = Set(
                (0..<Int.random(in: 0...5, using: &generator)).map { _ in
                    Int.random(in: 0..<count, using: &generator)
                })
            var set = BitSet(count: count)
            for element in elements { set.insert(element) }
            var listed: [Int] = []
            set.forEach { listed.append($0) }
            #expect(listed == elements.sorted())
            let ranked = RankedBitSet(set)
            for number in 0..<count {
                #expect(set.contains(number) == elements.contains(number))
                #expect(ranked.rank(of: number) == elements.count { $0 < number })
                let range = number..<Int.random(in: number...count, using: &generator)
                #expect(set.hasAny(in: range) == elements.contains { range.contains($0) })
            }
        }
    }

    /// With numbers that need from no byte to 4 bytes in a block.
    @Test(arguments: [1, 200, 60_000, 10_000_000, 1 << 31])
    func packedEventsAreTheEventsThatWereAdded(most: Int) {
        var generator = SeededGenerator(seed: TestSettings.seed)
        func path() -> RowPath {
            RowPath(section: .random(in: 0..<most, using: &generator), row: .random(in: 0..<most, using: &generator))
        }
        var packed = PackedRowEvents()
        var kinds: [[OrderChange<RecordKey>.RowEvent]] = [[], [], [], []]
        for _ in 0..<50_000 {
            let row = RecordKey(
                entity: .random(in: 0..<3, using: &generator),
                number: .random(in: 1...min(UInt64(most), RecordKey.maximumNumber), using: &generator))
            let (from, to) = (path(), path())
            switch Int.random(in: 0..<4, using: &generator) {
            case 0:
                packed.delete(row, from: from)
                kinds[0].append(.delete(row, from: from))
            case 1:
                packed.insert(row, to: to)
                kinds[1].append(.insert(row, to: to))
            case 2:
                packed.move(row, from: from, to: to)
                kinds[2].append(.move(row, from: from, to: to))
            default:
                packed.update(row, from: from, to: to)
                kinds[3].append(.update(row, from: from, to: to))
            }
        }
        let events = OrderChange<RecordKey>.RowEvents(packed: packed) { $0 }
        #expect(Array(events) == Array(kinds.joined()))
        let named = events.named {
            "\($0.entity)"
        } rename: {
            "\($0):\($1.number)"
        }
        #expect(named[7] == events[7].named { "\($0.entity):\($0.number)" })
    }
}
