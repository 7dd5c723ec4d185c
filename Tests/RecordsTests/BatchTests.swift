import Models
import Records
import TestSupport
import Testing
import Values

/// Batches of records against the same records written one by one.
@Suite struct BatchTests {
    private let entity = TestStore.books.entities[0]
    private let constraint = TestStore.books.entities[0].uniqueConstraints[0]

    private func batch(_ records: [[UInt8]]) -> RecordBatch {
        var batch = RecordBatch()
        for record in records { batch.append(record.span.bytes) }
        return batch
    }

    private func text(_ outcome: Result<StoreWriter.PutOutcome, StoreError>) -> String {
        switch outcome {
        case .success(.inserted(let object)): "inserted \(object.number)"
        case .success(.updated(let object)): "updated \(object.number)"
        case .success(.unchanged(let object)): "unchanged \(object.number)"
        case .failure: "refused"
        }
    }

    private struct Enough: Error {}

    private func stop(_ index: Int, _ outcome: Result<StoreWriter.PutOutcome, StoreError>) throws {
        if index == 5 { throw Enough() }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>) func aBatchIsItsRecordsOneByOne(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let (batched, single) = (try TestStore(model: TestStore.books), try TestStore(model: TestStore.books))
        for _ in 0..<8 {
            let records = try (0..<Int.random(in: 0...60, using: &generator)).map { _ in
                let number = Int.random(in: 0..<50, using: &generator)
                let id = number == 0 ? String(repeating: "k", count: 600) : "id-\(number)"
                return try single.book(id, Int64.random(in: 0..<3, using: &generator))
            }
            var prepared = batch(records)
            if Bool.random(using: &generator) { try prepared.sortKeys(0, entity, constraint) }
            var outcomes: [String] = []
            var expected: [String] = []
            let commit = try batched.write { writer in
                try writer.put(0, prepared, by: constraint) { index, outcome in
                    #expect(index == outcomes.count)
                    outcomes.append(text(outcome))
                }
            }
            let expectedCommit = try single.write { writer in
                for record in records {
                    do {
                        expected.append(
                            text(.success(try writer.put(0, record.span.bytes, by: [constraint]))))
                    } catch let error as StoreError where error.isOfValues {
                        expected.append(text(.failure(error)))
                    }
                }
            }
            #expect(outcomes == expected, "seed \(seed)")
            #expect(commit == expectedCommit)
        }
        #expect(try batched.contents() == single.contents(), "seed \(seed)")
        #expect(try changes(of: batched) == changes(of: single), "seed \(seed)")
    }

    private func changes(of test: TestStore) throws -> [String] {
        let snapshot = try test.store.snapshot()
        var changes: [String] = []
        for commit in 0..<snapshot.commit {
            try snapshot.netChanges(of: 0, from: commit) { changes.append("\(commit) \($0)") }
        }
        return changes
    }

    /// What was taken before the error is in, with its unique keys.
    @Test func anErrorKeepsWhatCameBefore() throws {
        let test = try TestStore(model: TestStore.books)
        let records = try (0..<10).map { try test.book("id-\(9 - $0)", Int64($0)) }
        try test.write { writer in
            #expect(throws: Enough.self) {
                try writer.put(0, batch(records), by: constraint, done: stop)
            }
        }
        #expect(try test.contents().count == 6)
        let snapshot = try test.store.snapshot()
        #expect(try snapshot.object(0, slot: 0, equalTo: .string("id-9"))?.number == 1)
        #expect(try snapshot.object(0, slot: 0, equalTo: .string("id-3")) == nil)
    }
}
