internal import FetchIndex
internal import FetchIndexValues

/// Writes rows as a source sends them into a store, in one transaction.
final class RowWriter {
    let writer: KeyedRowWriter
    /// Keys of rows of which values were not sent, and that the store does not have: these must be read again.
    private var incomplete: [(table: UInt32, key: Value)] = []
    /// Whether rows may be of a later time than the changes that are written.
    var isCatchingUp: Bool

    init(_ writer: KeyedRowWriter, isCatchingUp: Bool = false) {
        (self.writer, self.isCatchingUp) = (writer, isCatchingUp)
    }

    func takeIncomplete() -> [(table: UInt32, key: Value)] {
        defer { incomplete = [] }
        return incomplete
    }

    /// Inserts a row, or changes the one that has its key. O(log n).
    func insert(
        _ row: [StreamedValue], _ bytes: UnsafeRawBufferPointer, of table: UInt32, _ reader: inout RowReader
    ) throws {
        // A partial row enters a condition by a change of its key.
        if row.contains(.unchanged) { return try incomplete.append((table, reader.key(row, bytes))) }
        try writer.insert(reader.row(row, bytes), reader.table)
    }

    /// Changes a row; `old` has the key that it had, where that is sent. O(log n).
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
