internal import FetchIndex
internal import FetchIndexPlatform
internal import FetchIndexValues

/// Copies a table in ranges of keys. Each range is one transaction. In a first copy, this transaction also stores the
/// last key of a full range, so that an interrupted copy can continue after that key. The ranges show the table at
/// different times; changes during the copy come from the stream or the change table. A table without a key is one
/// range.
///
///     reading thread    COPY a range ──▶ rows ──▶ batches, keys sorted ──┐ at most two wait
///     follower's thread                              write, commit range ◀──┘
struct TableCopy {
    /// The default maximum number of rows in a range.
    static let rangeLength = 50_000
    let container: PersistentContainer
    let connection: Connection
    let source: FollowedSource
    let table: FollowedSource.Table
    let rangeLength: Int
    let threads: Int
    let author: String
    let others: OtherSources
    let group: FollowerGroup
    let replaced: ReplacedValues

    private struct Batch {
        var rows = RowBatch()
        /// Rows that can't be stored.
        var omitted: [UnstorableRow] = []
        /// The keys by which rows are left out; empty if every row can be written.
        var keys: [(omitted: String, text: String)] = []
        /// The last key of a full range, if the batch ends it.
        var endOfRange: [String]?
        var isLast = false
    }

    /// Returns the SQL for the row with a key.
    static func command(_ table: FollowedSource.Table, ofRow key: [String]) -> String {
        let conditions =
            zip(table.key, key).map { "\($0.quotedName) = \($1.quotedText)" }
            + (table.currentCondition.map { ["(\($0))"] } ?? [])
        return "COPY (SELECT \(table.columns.map { $0.name.quotedName }.joined(separator: ", ")) FROM \(table.quoted) "
            + "WHERE \(conditions.joined(separator: " AND "))) TO STDOUT"
    }

    /// Returns the SQL for a range that begins after a key, or with the first row; for all rows of a table without a key.
    static func command(_ table: FollowedSource.Table, after key: [String]?, limit: Int) -> String {
        let columns = table.key.map(\.quotedName).joined(separator: ", ")
        let conditions = [
            table.currentCondition.map { "(\($0))" },
            key.map { "(\(columns)) > (\($0.map(\.quotedText).joined(separator: ", ")))" },
        ]
        .compactMap { $0 }
        return "COPY (SELECT \(table.columns.map { $0.name.quotedName }.joined(separator: ", ")) "
            + "FROM \(table.quoted)"
            + (conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND "))
            + (table.key.isEmpty ? "" : " ORDER BY \(columns) LIMIT \(limit)") + ") TO STDOUT"
    }

    /// Copies the ranges that are left. `commit` receives the writer of each range, which it must commit, and the
    /// range's last key, which is nil for the last range, because that range isn't full; `seen` receives the object
    /// number of each row, and `omit` each row that can't be stored. They are called on the calling thread.
    func run(
        seen: (UInt64) -> Void, omit: (UnstorableRow) throws -> Void,
        commit: (KeyedRowWriter, _ end: [String]?, _ isLast: Bool) throws -> Void
    ) throws {
        let state = try container.pinnedState()
        let version = state.modelVersion
        let reader = try RowReader(
            table, table.columns.map(\.name), of: source, besides: others, replaced, in: state.model)
        let kept = reader.keptSlots([])
        var open: KeyedRowWriter?
        try Threads.pipe(threads, capacity: 2) { deliver in
            try produce(reader, deliver)
        } consume: { (batch: Batch) in
            if open == nil { group.yieldWriter() }
            let writer = try open ?? group.writer(in: container, author: author, changesRecords: true)
            open = writer
            guard writer.modelVersion == version else {
                throw SourceError(.connection, "another process has changed the model while \(table.title) was copied")
            }
            var omitted = batch.omitted
            try writer.put(
                batch.rows, keeping: kept, reader.table,
                refused: { index, error in
                    let key = batch.keys[index]
                    omitted.append(reader.refused(error, key.omitted, key.text))
                }, done: seen)
            for row in omitted { try omit(row) }
            guard batch.endOfRange != nil || batch.isLast else { return }
            open = nil
            try commit(writer, batch.endOfRange, batch.isLast)
        }
    }

    /// Reads ranges from the source, up to the first range that isn't full.
    private func produce(_ reader: RowReader, _ deliver: (consuming Batch) throws -> Void) throws {
        var reader = reader
        var after = table.copy.key
        while true {
            let batch = try readRange(after: after, &reader, deliver)
            let (isLast, end) = (batch.isLast, batch.endOfRange)
            try deliver(batch)
            if isLast { return }
            after = end
        }
    }

    /// Reads a range, delivers its batches except the last one, and returns the last one.
    private func readRange(
        after key: [String]?, _ reader: inout RowReader, _ deliver: (consuming Batch) throws -> Void
    ) throws -> Batch {
        var batch = Batch()
        var row = CopiedRow()
        var count = 0
        var digests = DigestCounts()
        // The body reads only local variables of this copy and its reader: each use of the two would copy them for each row.
        let (hasKey, length, width) = (table.wholeRow == nil, rangeLength, reader.width)
        let mayBeRefused = !(table.shard?.isInKey ?? true) || !table.otherKeys.isEmpty
        try connection.copyOut(Self.command(table, after: key, limit: rangeLength)) { bytes in
            if batch.rows.isFull {
                try batch.rows.sortKeys(of: reader.table)
                let full = batch
                batch = Batch()
                try deliver(full)
            }
            row.read(bytes)
            if row.fields.count != width { try reader.requireWidth(row.fields) }
            count += 1
            try row.bytes.withUnsafeBytes { bytes in
                if !hasKey { reader.wholeRow = digests.count(reader.digest(row.fields, bytes)) }
                do {
                    try reader.append(row.fields, bytes, to: &batch.rows)
                    if mayBeRefused { batch.keys.append(reader.omittedKeys(row.fields, bytes)) }
                } catch let row as UnstorableRow {
                    batch.omitted.append(row)
                }
                if count == length, hasKey {
                    batch.endOfRange = reader.keyTexts(row.fields, bytes)
                }
            }
        }
        try batch.rows.sortKeys(of: reader.table)
        batch.isLast = count < rangeLength || !hasKey
        return batch
    }
}
