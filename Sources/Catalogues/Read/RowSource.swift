package import FetchIndexValues

/// Rows of a file, each handed out as the bytes of its fields.
package protocol RowSource: AnyObject {
    /// The names of the columns. Known before the first row.
    var columns: [String] { get }
    /// Bytes of the file read so far, and in all.
    var progress: (done: Int, total: Int) { get }
    /// Whether another thread decompresses what comes next while rows are used. Files alone: a pipe may have nothing to read for long, and
    /// an error in a row must not wait for that.
    var decompressesAhead: Bool { get set }

    /// Hands out the rows that are left, and lines that are no rows. A body that throws ends the reading.
    func forEachRow(_ body: (FieldRow) throws -> Void, bad: (BadInput) throws -> Void) throws

    /// The types of some of the columns, by their places, from all rows that are left, or from those that were read for the names of columns.
    /// What is no row, and what ends the reading, is met again by who reads the rows. `key` is the name of the column that tells rows apart.
    func inferTypes(of asked: Set<Int>, key: String?) throws -> [ValueType]
}
