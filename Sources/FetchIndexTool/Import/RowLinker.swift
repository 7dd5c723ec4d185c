internal import FetchIndex
internal import Models
internal import Records

/// Puts rows with related objects into the store.
struct RowLinker {
    private let columns: [RelatedColumn]
    private let kept: Set<Int>
    /// Links to objects that were not there when their rows came, with the lines of these.
    private var missing: [(line: Int, link: BatchWriter.MissingLink)] = []

    /// `kept` are the slots that the file does not have.
    init(_ related: RelatedColumns, keepingSlots kept: Set<Int>) {
        columns = related.columns
        self.kept = kept
    }

    /// `done` gets each row's object number, or the error that its values cause; what it throws ends the batch.
    mutating func put(
        _ batch: borrowing RowBatch, with writer: BatchWriter, done: (Int, Result<UInt64, StoreError>) throws -> Void
    ) throws {
        for index in 0..<batch.records.count {
            let row = LinkedRow(
                batch.records.copy(at: index), number: batch.numbers[index], batch.related[index])
            let outcome: Result<UInt64, StoreError>
            do {
                let (number, links) = try writer.put(row, columns, keepingSlots: kept)
                missing += links.map { (batch.lines[index], $0) }
                outcome = .success(number)
            } catch let error as StoreError where error.isOfValues {
                outcome = .failure(error)
            }
            try done(index, outcome)
        }
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
