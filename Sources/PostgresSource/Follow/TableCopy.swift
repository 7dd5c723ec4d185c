internal import FetchIndex
internal import FetchIndexPlatform
internal import FetchIndexValues

/// Copies a table in ranges of its keys, each in a transaction with the key that it ends with: a copy that is stopped goes on there.
/// The rows are of different times; what happens to the table meanwhile is in the stream.
struct TableCopy {
    /// Rows of a transaction.
    static let rangeLength = 50_000
    let container: PersistentContainer
    let connection: Connection
    let source: FollowedSource
    let table: FollowedSource.Table
    let rangeLength: Int
    let threads: Int
    let waiting: WaitingRows

    private struct Batch {
        var rows = RowBatch()
        /// The key of the last row of a range, where the batch ends it.
        var endOfRange: String?
        var isLast = false
    }

    /// The SQL of the row that has a key.
    static func command(_ table: FollowedSource.Table, ofRow key: Value) -> String {
        let name = "\(table.schema.quotedName).\(table.name.quotedName)"
        let condition = table.currentCondition.map { " AND (\($0))" } ?? ""
        return "COPY (SELECT \(table.columns.map { $0.name.quotedName }.joined(separator: ", ")) FROM \(name) "
            + "WHERE \(table.key.quotedName) = \(ColumnValue.text(of: key).quotedText)\(condition)) TO STDOUT"
    }

    /// The SQL of a range that begins after a key.
    static func command(_ table: FollowedSource.Table, after key: String?, limit: Int) -> String {
        let conditions = [
            table.currentCondition.map { "(\($0))" }, key.map { "\(table.key.quotedName) > \($0.quotedText)" },
        ]
        .compactMap { $0 }
        return "COPY (SELECT \(table.columns.map { $0.name.quotedName }.joined(separator: ", ")) "
            + "FROM \(table.schema.quotedName).\(table.name.quotedName)"
            + (conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND "))
            + " ORDER BY \(table.key.quotedName) LIMIT \(limit)) TO STDOUT"
    }

    /// `commit` is called with each range's transaction, the key of its last row and whether it is the last range. `seen` gets
    /// the numbers of the rows' objects.
    func run(
        seen: (UInt64) -> Void, commit: (KeyedRowWriter, _ end: String?, _ isLast: Bool) throws -> Void
    ) throws {
        let state = try container.pinnedState()
        let version = state.modelVersion
        let reader = try RowReader(table, table.columns.map(\.name), of: source, in: state.model)
        let kept = reader.keptSlots([])
        var open: KeyedRowWriter?
        try Threads.pipe(threads, capacity: 2) { deliver in
            try produce(reader, deliver)
        } consume: { (batch: Batch) in
            let writer = try open ?? KeyedRowWriter(in: container, author: "postgres copy", waiting: waiting)
            open = writer
            guard writer.modelVersion == version else {
                throw SourceError(.connection, "another process has changed the model while \(table.title) was copied")
            }
            try writer.put(batch.rows, keeping: kept, reader.table, done: seen)
            guard batch.endOfRange != nil || batch.isLast else { return }
            open = nil
            try commit(writer, batch.endOfRange, batch.isLast)
        }
    }

    private func produce(_ reader: RowReader, _ deliver: (consuming Batch) throws -> Void) throws {
        var reader = reader
        var after = table.copiedThrough
        var row = CopiedRow()
        while true {
            var batch = Batch()
            var count = 0
            var last: String?
            try connection.copyOut(Self.command(table, after: after, limit: rangeLength)) { bytes in
                if batch.rows.isFull {
                    try batch.rows.sortKeys(of: reader.table)
                    let full = batch
                    batch = Batch()
                    try deliver(full)
                }
                row.read(bytes)
                try reader.requireWidth(row.fields)
                count += 1
                try row.bytes.withUnsafeBytes { bytes in
                    try reader.append(row.fields, bytes, to: &batch.rows)
                    if count == rangeLength { last = reader.keyText(row.fields, bytes) }
                }
            }
            try batch.rows.sortKeys(of: reader.table)
            batch.endOfRange = last
            batch.isLast = count < rangeLength
            let (isLast, ended) = (batch.isLast, batch)
            try deliver(ended)
            if isLast { return }
            after = last
        }
    }
}
