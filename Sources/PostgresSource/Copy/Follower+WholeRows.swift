internal import FetchIndex
internal import FetchIndexValues

/// The numbers of equal rows that a copy has read. About 50 bytes for each different row.
struct DigestCounts {
    private var counts: [Value: Int32] = [:]

    /// Counts a row. Returns its digest with the number of rows that have it so far.
    mutating func count(_ digest: Value) -> (digest: Value, count: Int) {
        let count = (counts[digest] ?? 0) + 1
        counts[digest] = count
        return (digest, Int(count))
    }
}

// Tables without a key: an object stands for all equal rows, and counts them.
extension Follower {
    /// Begins a transaction of the source in which all reads see one snapshot, for the copy of a table without a key.
    func beginSnapshot() throws -> SourceSnapshot {
        try connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        let text = try connection.value("SELECT pg_catalog.pg_current_snapshot()")
        guard let snapshot = text.flatMap({ SourceSnapshot($0) }) else {
            throw SourceError(.refused, "the source does not tell its snapshot")
        }
        return snapshot
    }

    /// Adds a row to the rows that are equal, or subtracts it.
    func change(
        _ row: [StreamedValue], _ bytes: UnsafeRawBufferPointer, by difference: Int, _ reader: inout RowReader,
        of index: Int, _ writer: KeyedRowWriter
    ) throws {
        guard let names = source.tables[index].wholeRow else { return }
        let digest = reader.digest(row, bytes)
        reader.wholeRow = (digest, 0)
        let key = try reader.key(row, bytes)
        let stored = try writer.integer(names.count, ofObject: key, reader.table)
        let count = stored + difference
        reader.wholeRow = (digest, count)
        if count > 0 { return try insert(row, bytes, &reader, of: index, writer) }
        if count == 0 { try writer.delete(key: key, reader.table) }
        let omitted = source.tables[index].omittedRows
        if count < 0, omitted.isEmpty || omitted[reader.omittedKey(row, bytes)] == nil { return try copyAgain(index) }
        keep(reader.omittedKey(row, bytes), of: index)
    }

    /// Makes another copy due, because the store lacks an old row that the source has sent: another program has changed the
    /// store's rows, or the row's text depends on something that changes without it, such as the name of a type.
    private func copyAgain(_ index: Int) throws {
        tell(
            .warning(
                "the store lacks a row of \(source.tables[index].title) that has changed: the table is copied again"))
        source.tables[index].copy.requireCopy()
        source.tables[index].copy.wait(after: try endOfLog())
    }

    /// Whether a table without a key has a transaction's rows already, because a copy has read them later, or will read
    /// them. The rows of other tables may be written twice.
    func isCopied(_ transaction: UInt32, of index: Int) -> Bool {
        !source.tables[index].copy.isCopied || source.tables[index].snapshot?.shows(transaction) ?? false
    }
}
