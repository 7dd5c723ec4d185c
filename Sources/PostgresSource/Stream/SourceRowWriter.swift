internal import FetchIndex
internal import FetchIndexValues

/// Writes the rows that a source sends, in one transaction of the store. It belongs to the follower's thread.
final class SourceRowWriter {
    let writer: KeyedRowWriter
    /// The keys of rows that were sent in part and that the store lacks: they must be read from the source.
    private var incomplete: [(table: UInt32, key: Value)] = []
    /// Whether stored rows may be newer than the changes that are written.
    var isCatchingUp: Bool

    init(_ writer: KeyedRowWriter, isCatchingUp: Bool = false) {
        (self.writer, self.isCatchingUp) = (writer, isCatchingUp)
    }

    func takeIncomplete() -> [(table: UInt32, key: Value)] {
        defer { incomplete = [] }
        return incomplete
    }

    /// Inserts a row, or changes the one with its key. O(log n).
    func insert(
        _ row: [StreamedValue], _ bytes: UnsafeRawBufferPointer, of table: UInt32, _ reader: inout RowReader
    ) throws {
        // A row that enters the condition by a change of its key is sent in part.
        if row.contains(.unchanged) { return try incomplete.append((table, reader.key(row, bytes))) }
        try writer.insert(reader.row(row, bytes), reader.table)
    }

    /// Changes a row; `old` has its former key, if the source sends it. O(log n).
    func update(
        _ old: [StreamedValue]?, _ row: [StreamedValue], _ bytes: UnsafeRawBufferPointer, of table: UInt32,
        _ reader: inout RowReader
    ) throws {
        let row = try reader.row(row, bytes)
        let oldKey = try old.map { try reader.key($0, bytes) } ?? row.key
        if try !writer.update(row, oldKey: oldKey, isCatchingUp: isCatchingUp, reader.table) {
            incomplete.append((table, row.key))
        }
    }

    func delete(_ row: [StreamedValue], _ bytes: UnsafeRawBufferPointer, _ reader: borrowing RowReader) throws {
        try writer.delete(key: reader.key(row, bytes), reader.table)
    }
}
