internal import FetchIndex

/// Reads and converts the rows of a file, and delivers them in batches.
struct RowReading {
    /// Passes a batch on.
    typealias Deliver = (consuming ReadRows) throws -> Void

    private let source: any RowSource
    private var converter: RowConverter
    private let skipsBadRows: Bool
    private var rows = RowBatch()
    private var bad = BadRows()

    init(_ source: any RowSource, _ converter: RowConverter, skipsBadRows: Bool) {
        (self.source, self.converter, self.skipsBadRows) = (source, converter, skipsBadRows)
    }

    /// Reads all rows. Throws errors that end the reading. Unless bad rows are skipped, also throws the error of the
    /// first bad row.
    mutating func run(_ deliver: Deliver) throws {
        do {
            try source.forEachRow({ try append($0, deliver) }, bad: { try note($0, deliver) })
        } catch let error where error is BadInput || error is UnreadableFile {
            // Delivers the rows before the error.
            try deliverBatch(deliver)
            throw error
        }
        try deliverBatch(deliver)
    }

    private mutating func append(_ row: FieldRow, _ deliver: Deliver) throws {
        let isFull: Bool
        do { isFull = try converter.append(row, to: &rows) } catch let bad as BadInput {
            return try note(bad, deliver)
        }
        if isFull { try deliverBatch(deliver) }
    }

    private mutating func note(_ bad: BadInput, _ deliver: Deliver) throws {
        guard skipsBadRows else { throw bad }
        self.bad.note(bad)
        if self.bad.isFull { try deliverBatch(deliver) }
    }

    private mutating func deliverBatch(_ deliver: Deliver) throws {
        let full = ReadRows(rows: rows, bad: bad, progress: source.progress)
        rows = RowBatch(likeOneOf: full.rows.count, byteCount: full.rows.byteCount)
        bad = BadRows()
        try deliver(full)
    }
}
