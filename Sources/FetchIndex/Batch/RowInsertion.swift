internal import FetchIndexModels
internal import FetchIndexRecords

/// Inserts rows into an entity. If the policy is `update`, a row that has a unique value of an object updates the
/// object instead. Rows are gathered into batches, so that the unique keys of a batch can be written in ascending
/// order.
struct RowInsertion {
    private static let batchLength = 8192
    private static let batchBytes = 4 << 20

    private let writer: StoreWriter
    private let number: Int
    private let entity: Entity
    private let rule: WriteRule
    private var builder = RecordBuilder()
    /// The rows that aren't written yet.
    private var batch = RecordBatch()
    /// The number of written rows that inserted or changed an object.
    private(set) var count = 0

    init(into number: Int, _ onUniqueConflict: UniqueConflictPolicy, _ writer: StoreWriter) {
        self.writer = writer
        self.number = number
        entity = writer.model.entities[number]
        rule = onUniqueConflict == .update ? .update(by: entity.uniqueConstraints) : .insert
    }

    /// Adds a row. Writes the batch if it's full, which may throw the error of an earlier row.
    mutating func insert(_ row: [Value]) throws {
        try builder.assemble(row, of: entity)
        batch.append(&builder)
        if batch.count == Self.batchLength || batch.byteCount >= Self.batchBytes { try write() }
    }

    /// Writes the gathered rows. O(rows log n).
    mutating func write() throws {
        if batch.count == 0 { return }
        let written = batch
        // The next batch will probably be as large.
        batch = RecordBatch(capacity: written.count, byteCapacity: written.byteCount)
        var count = count
        try writer.write(number, written, rule) { _, outcome in
            if !outcome.isUnchanged { count += 1 }
        }
        self.count = count
    }
}
