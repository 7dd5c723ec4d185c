internal import FetchIndex

/// Reads and converts the rows of a file, and delivers them in batches.
struct RowReading {
    /// Passes a batch on. Returns how the writer wants the next batch to be prepared; nil if the writer hasn't said
    /// that.
    typealias Deliver = (consuming ReadRows) throws -> BatchWriter.Preparation?

    private let source: any RowSource
    private var converter: RowConverter
    private let writer: BatchWriter
    private let skipsBadRows: Bool
    private var rows = RowBatch()
    private var bad = BadRows()
    private var preparation: BatchWriter.Preparation

    /// `writer` prepares each batch on the reading thread before the batch is delivered, the first ones as `preparation`
    /// says.
    init(
        _ source: any RowSource, _ converter: RowConverter, _ writer: BatchWriter, skipsBadRows: Bool,
        preparing preparation: BatchWriter.Preparation = .sortedKeys
    ) {
        (self.source, self.converter, self.writer) = (source, converter, writer)
        (self.skipsBadRows, self.preparation) = (skipsBadRows, preparation)
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
        try writer.prepare(&rows, as: preparation)
        let full = ReadRows(rows: rows, bad: bad, progress: source.progress)
        rows = RowBatch(likeOneOf: full.rows.count, byteCount: full.rows.byteCount)
        bad = BadRows()
        if let next = try deliver(full) { preparation = next }
    }
}
