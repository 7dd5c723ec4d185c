import FetchIndexModels
import FetchIndexRecords
import FetchIndexTestSupport
import Testing

/// Two stores of one model: one takes batches of records, the other the same records one by one.
struct BatchPair {
    let batched: TestStore
    let single: TestStore
    private let entity: Entity
    private let constraint: UniqueConstraint

    init(model: Model) throws {
        batched = try TestStore(model: model)
        single = try TestStore(model: model)
        entity = model.entities[0]
        constraint = entity.uniqueConstraints[0]
    }

    /// Puts the records into both stores, and expects the same outcomes. Returns whether the batch reported that most
    /// of its records were found unchanged in the order of their objects.
    @discardableResult
    func put(_ records: [[UInt8]], sortingKeys: Bool, _ comment: Comment) throws -> Bool {
        var batch = RecordBatch(records)
        if sortingKeys { try batch.sortKeys(0, entity, constraint) }
        var (outcomes, expected): ([String], [String]) = ([], [])
        var wasRepeated = false
        let commit = try batched.write { writer in
            func note(_ index: Int, _ outcome: String) {
                #expect(index == outcomes.count, comment)
                outcomes.append(outcome)
            }
            wasRepeated = try writer.write(
                0, batch, .update(by: [constraint]), refused: { index, error in note(index, error.description) },
                done: { index, outcome in note(index, text(outcome)) }
            )
        }
        let expectedCommit = try single.write { writer in
            for record in records {
                do {
                    expected.append(text(try writer.write(0, record.span.bytes, by: [constraint])))
                } catch let error as StoreError where error.isOfValues {
                    expected.append(error.description)
                }
            }
        }
        #expect(outcomes == expected, comment)
        #expect(commit == expectedCommit, comment)
        return wasRepeated
    }

    /// Inserts the records into both stores. Expects the same error, or none, and the same commit number.
    func insert(_ records: [[UInt8]], _ comment: Comment) throws {
        func error(_ body: () throws -> Void) throws -> String {
            do { try body() } catch let error as StoreError where error.isOfValues { return error.description }
            return "none"
        }
        var (outcome, expected) = ("", "")
        let commit = try batched.write { writer in
            outcome = try error { try writer.write(0, RecordBatch(records), .insert) { _, _ in } }
        }
        let expectedCommit = try single.write { writer in
            expected = try error { for record in records { try writer.insert(0, record.span.bytes) } }
        }
        #expect(outcome == expected, comment)
        #expect(commit == expectedCommit, comment)
    }

    func delete(_ number: UInt64) throws {
        for store in [batched, single] {
            try store.write { _ = try $0.delete(RecordKey(entity: 0, number: number)) }
        }
    }

    func expectSameContents(_ comment: Comment) throws {
        #expect(try batched.contents() == single.contents(), comment)
        #expect(try changes(of: batched) == changes(of: single), comment)
    }

    private func text(_ outcome: WriteOutcome) -> String {
        switch outcome {
        case .inserted(let object): "inserted \(object.number)"
        case .updated(let object): "updated \(object.number)"
        case .unchanged(let object): "unchanged \(object.number)"
        }
    }

    /// The net changes since each commit.
    private func changes(of test: TestStore) throws -> [[RecordChange]] {
        let snapshot = try test.store.snapshot()
        return try (0..<snapshot.commit).map { commit in
            var changes: [RecordChange] = []
            try snapshot.netChanges(of: 0, from: commit) { changes.append($0) }
            return changes
        }
    }
}

extension RecordBatch {
    init(_ records: [[UInt8]]) {
        self.init()
        for record in records { append(record.span.bytes) }
    }
}
