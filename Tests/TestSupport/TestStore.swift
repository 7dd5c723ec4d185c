import FetchIndexPlatform
package import FetchIndexModels
internal import FetchIndexLMDB
package import FetchIndexRecords
internal import Testing

/// Records an issue if a check finds defects or throws. It's for teardowns, which can't throw and must not end the run.
package func recordDefects<Defect>(_ check: () throws -> [Defect]) {
    do {
        let defects = try check()
        if !defects.isEmpty { Issue.record("The store is damaged: \(defects)") }
    } catch {
        Issue.record("The store cannot be checked: \(error)")
    }
}

/// A store in a folder of its own. Its teardown checks the store, and records defects as an issue.
package final class TestStore {
    package let folder = TemporaryFolder()
    package let store: Store

    package init(model: Model, threads: Int? = nil, writeMemory: Int? = nil) throws {
        var options = Store.Options()
        if let threads { options.threads = threads }
        if let writeMemory { options.writeMemory = writeMemory }
        options.durability = .none
        options.keptLogBytes = 0
        store = try Store(at: folder.path, model: model, options: options)
    }

    package var path: String { folder.path }

    deinit { recordDefects { try store.snapshot().check() } }

    @discardableResult
    package func write(_ body: (StoreWriter) throws -> Void) throws -> UInt64 {
        let writer = try store.beginWrite()
        try body(writer)
        return try writer.commit()
    }

    /// All records of an entity by object number.
    package func contents(_ entity: Int = 0) throws -> [UInt64: [UInt8]] {
        var contents: [UInt64: [UInt8]] = [:]
        let snapshot = try store.snapshot()
        try snapshot.scan(entity) { object, record in
            contents[object.number] = [UInt8](copying: record)
            return true
        }
        return contents
    }
}

extension StoreWriter {
    /// Writes a batch of one record, which updates the object that has its unique value, or inserts a new object.
    @discardableResult
    package func write(
        _ entity: Int, _ record: RawSpan, by constraints: [UniqueConstraint]
    ) throws -> WriteOutcome {
        var batch = RecordBatch()
        batch.append(record)
        var written: WriteOutcome?
        try write(entity, batch, .update(by: constraints)) { _, outcome in written = outcome }
        return try #require(written)
    }
}
