internal import FetchIndex
internal import FetchIndexEssentials
internal import FetchIndexPlatform
internal import FetchIndexValues

extension FollowedSource {
    /// The attributes of an entity whose table has no key: an object stands for all equal rows.
    package struct WholeRow: Codable, Equatable, Sendable {
        /// The attribute with the digest of a row's values, which is the key.
        package var digest: String
        /// The attribute with the number of equal rows.
        package var count: String

        /// Chooses names that aren't those of columns.
        init(besides columns: [String]) {
            func free(_ name: String) -> String { columns.contains(name) ? free(name + "_") : name }
            (digest, count) = (free("rowDigest"), free("rowCount"))
        }
    }
}

/// A snapshot of the source: the transactions whose changes the rows of a copy have. Numbers of transactions have 32
/// bits, as in the stream, and wrap around.
/// PostgreSQL documentation, "Transaction ID and Snapshot Information Functions".
package struct SourceSnapshot: Equatable, Sendable {
    private let end: UInt32
    private let open: Set<UInt32>

    /// Reads xmin:xmax:xip,xip…; nil for another text.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        func number(_ text: Substring) -> UInt32? { UInt64(text).map { UInt32(truncatingIfNeeded: $0) } }
        guard parts.count == 3, let end = number(parts[1]) else { return nil }
        self.end = end
        open = Set(parts[2].split(separator: ",").compactMap(number))
    }

    /// Whether the snapshot shows a transaction that has committed.
    package func shows(_ transaction: UInt32) -> Bool {
        Int32(bitPattern: transaction &- end) < 0 && !open.contains(transaction)
    }
}

/// The digest of a row that has no key.
struct RowDigest {
    private var bytes: [UInt8] = []

    /// The digest of the texts of a row's values at the given places, in their order: the first 16 bytes of the SHA-256 of
    /// each text's length, or -1 for null, and the text.
    mutating func value(_ row: [StreamedValue], _ places: [Int], _ text: UnsafeRawBufferPointer) -> Value {
        bytes.removeAll(keepingCapacity: true)
        for place in places {
            guard case .text(let range) = row[place] else {
                bytes.appendNumber(Int64(-1))
                continue
            }
            bytes.appendNumber(Int64(range.count))
            bytes.append(contentsOf: text[range])
        }
        var digest: [UInt8] = []
        Fingerprint(of: bytes.span.bytes).append(to: &digest)
        return digest.withUnsafeBytes { .uuid(UUID(uuid: $0.loadUnaligned(as: uuid_t.self))) }
    }
}

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

extension Follower {
    /// Begins a transaction of the source for the copy of a table without a key, whose rows are those of one snapshot.
    func beginSnapshot() throws -> String {
        try connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        guard let snapshot = try connection.value("SELECT pg_catalog.pg_current_snapshot()") else {
            throw SourceError(.refused, "the source does not tell its snapshot")
        }
        return snapshot
    }

    /// Adds rows of a table without a key to those that are equal, or subtracts them.
    func change(
        _ row: [StreamedValue], _ bytes: UnsafeRawBufferPointer, by difference: Int, _ reader: inout RowReader,
        of index: Int, _ writer: KeyedRowWriter
    ) throws {
        let key = try reader.key(row, bytes)
        guard let names = source.tables[index].wholeRow else { return }
        let stored = try writer.integer(names.count, ofObject: key, reader.table)
        let isOmitted = source.tables[index].omittedRows[reader.omittedKey(row, bytes)] != nil
        if stored == 0, difference < 0, !isOmitted { return try copyAgain(index) }
        let count = stored + difference
        if count <= 0 {
            keep(reader.omittedKey(row, bytes), of: index)
            return try writer.delete(key: key, reader.table)
        }
        reader.wholeRow = (reader.digest(row, bytes), count)
        try insert(row, bytes, &reader, of: index, writer)
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

    /// Whether a table's rows have a transaction already, because a copy has read them later, or will read them. Only a
    /// table without a key needs to know: the rows of others may be written twice.
    func isCopied(_ transaction: UInt32, of index: Int) -> Bool {
        let table = source.tables[index]
        if table.wholeRow == nil { return false }
        return !table.copy.isCopied || table.snapshot.flatMap { SourceSnapshot($0) }?.shows(transaction) ?? false
    }
}
