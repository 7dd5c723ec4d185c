/// Rows of a file, each handed out as the bytes of its fields.
protocol RowSource: AnyObject {
    /// The names of the columns. Known before the first row.
    var columns: [String] { get }
    /// Bytes of the file read so far, and in all.
    var progress: (done: Int, total: Int) { get }

    /// Hands out the rows that are left, and lines that are no rows. A body that throws ends the reading.
    func forEachRow(_ body: (FieldRow) throws -> Void, bad: (BadInput) throws -> Void) throws
}

/// The fields of one row, one after the other in a buffer.
struct FieldRow {
    /// The line that the row begins on, from 1.
    var line = 0
    var bytes: [UInt8] = []
    var ends: [Int] = []

    var count: Int { ends.count }

    mutating func begin(line: Int) {
        self.line = line
        bytes.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
    }

    mutating func append(_ field: UnsafeRawBufferPointer) {
        bytes.append(contentsOf: field)
        ends.append(bytes.count)
    }

    func range(of column: Int) -> Range<Int> { (column == 0 ? 0 : ends[column - 1])..<ends[column] }

    func text(of column: Int) -> String { String(decoding: bytes[range(of: column)], as: UTF8.self) }
}

/// Something in an import or change file is not as it must be.
struct BadInput: Error, CustomStringConvertible {
    let file: String
    let line: Int
    /// From 1; nil when the whole row is meant.
    var column: Int?
    var columnName: String?
    let reason: String

    var description: String {
        var place = "\(file), line \(line)"
        if let column { place += ", column \(column)\(columnName.map { " (\($0))" } ?? "")" }
        return "\(place): \(reason)"
    }
}
