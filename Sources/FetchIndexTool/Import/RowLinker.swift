internal import FetchIndex
internal import Models
internal import Records

/// Puts rows with related objects into the store.
struct RowLinker {
    private let columns: [RelatedColumn]
    private let kept: Set<Int>
    /// Whether rows can be put many at once.
    private let isPlain: Bool
    /// Links to objects that were not there when their rows came, with the lines of these.
    private var missing: [(line: Int, link: BatchWriter.MissingLink)] = []

    /// `kept` are the slots that the file does not have.
    init(_ related: RelatedColumns, keepingSlots kept: Set<Int>) {
        columns = related.columns
        isPlain = related.idPlace == nil && related.columns.allSatisfy(\.isPlain)
        self.kept = kept
    }

    /// `done` gets each row's object number, or `refused` the error that its values cause; what they throw ends the batch.
    mutating func put(
        _ batch: borrowing RowBatch, with writer: BatchWriter, refused: (Int, StoreError) throws -> Void,
        done: (Int, UInt64) throws -> Void
    ) throws {
        if isPlain { return try putPlain(batch, with: writer, refused: refused, done: done) }
        for index in 0..<batch.records.count {
            let row = LinkedRow(
                batch.records.copy(at: index), number: batch.numbers[index], batch.related[index])
            let number: UInt64
            do {
                let put = try writer.put(row, columns, keepingSlots: kept)
                missing += put.missing.map { (batch.lines[index], $0) }
                number = put.number
            } catch let error as StoreError where error.isOfValues {
                try refused(index, error)
                continue
            }
            try done(index, number)
        }
    }

    /// Rows between two that are refused are put at once: their unique keys are looked up and written in order.
    private func putPlain(
        _ batch: borrowing RowBatch, with writer: BatchWriter, refused: (Int, StoreError) throws -> Void,
        done: (Int, UInt64) throws -> Void
    ) throws {
        let related = columns.reduce(into: Set<Int>()) { $0.formUnion($1.slots) }
        var linked = RecordBatch()
        var first = 0
        func putLinked() throws {
            try writer.prepare(&linked)
            let start = first
            try writer.put(
                linked, keepingSlots: kept, relating: related, refused: { try refused(start + $0, $1) },
                done: { try done(start + $0, $1) })
            linked = RecordBatch()
        }
        for index in 0..<batch.records.count {
            do {
                let row = LinkedRow(batch.records.copy(at: index), number: nil, batch.related[index])
                let record = try writer.record(of: row, columns)
                linked.append(record.span.bytes)
            } catch let error as StoreError where error.isOfValues {
                try putLinked()
                first = index + 1
                try refused(index, error)
            }
        }
        try putLinked()
    }

    /// Writes the links whose objects came later in the file. Returns those whose objects did not come, and why; these are kept.
    mutating func settle(with writer: BatchWriter) throws -> [(line: Int, reason: StoreError)] {
        var left: [(line: Int, link: BatchWriter.MissingLink)] = []
        var reasons: [(line: Int, reason: StoreError)] = []
        for (line, link) in missing {
            do { try writer.settle(link) } catch let error as StoreError where error.isOfValues {
                left.append((line, link))
                reasons.append((line, error))
            }
        }
        missing = left
        return reasons
    }
}
