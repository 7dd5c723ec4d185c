package import FetchIndexValues

/// The rows of a file, each passed on as the bytes of its fields.
package protocol RowSource: AnyObject {
    /// The names of the columns, known before the first row.
    var columns: [String] { get }
    /// The number of the file's bytes that were read so far, and the file's length, which is 0 for a pipe.
    var progress: (done: Int, total: Int) { get }
    /// Whether another thread decompresses the following bytes while rows are used. It applies only to files: a pipe
    /// may have no data for long, and an error in a row must not wait for that.
    var decompressesAhead: Bool { get set }

    /// Calls `body` with each remaining row, and `bad` with the error of each line that isn't a row. A body that throws
    /// ends the reading.
    func forEachRow(_ body: (FieldRow) throws -> Void, bad: (BadInput) throws -> Void) throws

    /// Infers the types of some columns, given by their indexes, from all remaining rows, or from the rows that were
    /// read for the column names. Bad lines and errors are ignored here, because `forEachRow` reports them later. `key`
    /// is the name of the key column.
    func inferTypes(of asked: Set<Int>, key: String?) throws -> [ValueType]
}
