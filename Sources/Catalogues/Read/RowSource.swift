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

    /// Calls `body` with each remaining row, and `bad` with each error after which the reading can continue. A body
    /// that throws ends the reading.
    func forEachRow(_ body: (FieldRow) throws -> Void, bad: (BadInput) throws -> Void) throws

    /// Returns a type for each column. Sources of CSV and TSV infer the types of the columns whose indexes are `asked`
    /// from all remaining rows, and make the other columns text. A source of JSON lines has inferred all types already,
    /// from the lines that it read to find the columns. Bad lines and errors are ignored here, because `forEachRow`
    /// reports them later. `key` is the name of the key column.
    func inferTypes(of asked: Set<Int>, key: String?) throws -> [ValueType]
}
