internal import CFetchIndexSQLite
internal import FetchIndexValues

/// The rows of a table or view of an SQLite database, in the database's order. The database isn't changed.
///
/// A field is the text that a file of CSV would have: integers and reals in digits, bytes in hexadecimal digits, 0 and 1
/// of a boolean column as `false` and `true`. https://www.sqlite.org/datatype3.html
final class SQLiteTable: RowSource {
    private let database: SQLiteDatabase
    private let table: String
    /// The columns' declared types, in capitals; "" for a column without one.
    private let declared: [String]
    let columns: [String]
    /// The column of the primary key; nil if the table has none, or if it has several columns.
    let primaryKey: String?
    private var rowCount = 0
    // Nothing is decompressed.
    var decompressesAhead = false

    /// Opens a table; if `name` is nil, the database's only table. Throws `UnreadableFile`.
    init(_ path: String, table name: String?) throws {
        database = try SQLiteDatabase(path)
        let tables = try database.texts(
            "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
        )
        let list = tables.prefix(20).joined(separator: ", ").excerpt
        guard let table = name ?? (tables.count == 1 ? tables[0] : nil) else {
            throw database.unreadable(tables.isEmpty ? "has no tables" : "has the tables \(list): name one")
        }
        self.table = table
        var (columns, declared, keys): ([String], [String], [String]) = ([], [], [])
        let statement = try database.prepare("SELECT name, type, pk FROM pragma_table_info(?1)", table)
        while try statement.step() {
            let column = statement.text(0)
            columns.append(column)
            declared.append(statement.text(1).uppercased())
            if statement.integer(2) > 0 { keys.append(column) }
        }
        guard !columns.isEmpty else { throw database.unreadable("has no table \"\(table.excerpt)\", only \(list)") }
        (self.columns, self.declared) = (columns, declared)
        primaryKey = keys.count == 1 ? keys[0] : nil
    }

    /// The number of rows that were read so far, and 0, because the number of all is unknown.
    var progress: (done: Int, total: Int) { (rowCount, 0) }

    func forEachRow(_ body: (FieldRow) throws -> Void, bad: (BadInput) throws -> Void) throws {
        let names = columns.map(SQLiteDatabase.quoted).joined(separator: ", ")
        let statement = try database.prepare("SELECT \(names) FROM \(SQLiteDatabase.quoted(table))")
        let areBooleans = declared.map(Self.isBoolean)
        var row = FieldRow()
        rowCount = 0
        while try statement.step() {
            rowCount += 1
            row.begin(line: rowCount)
            for column in columns.indices { statement.append(column, isBoolean: areBooleans[column], to: &row) }
            try body(row)
        }
    }

    /// Returns the declared types. The types of other columns are inferred from all values, as those of CSV are.
    func inferTypes(of asked: Set<Int>, key: String?) throws -> [ValueType] {
        var types = declared.map(Self.type(ofDeclared:))
        let open = asked.filter { types[$0] == nil }
        if !open.isEmpty {
            let inferred = readTypes(of: open, key: key)
            for column in open { types[column] = try hasBytes(column) ? .data : inferred[column] }
        }
        return types.map { $0 ?? .string }
    }

    private func hasBytes(_ column: Int) throws -> Bool {
        let statement = try database.prepare(
            "SELECT 1 FROM \(SQLiteDatabase.quoted(table)) WHERE typeof(\(SQLiteDatabase.quoted(columns[column]))) = 'blob' LIMIT 1"
        )
        return try statement.step()
    }

    private static func isBoolean(_ declared: String) -> Bool { declared.hasPrefix("BOOL") }

    /// The type of a declared type, mostly by SQLite's rules of affinity; nil if the values decide.
    private static func type(ofDeclared declared: String) -> ValueType? {
        if isBoolean(declared) { return .boolean }
        if declared.contains("INT") { return .integer }
        if ["CHAR", "CLOB", "TEXT"].contains(where: { declared.contains($0) }) { return .string }
        if declared.contains("BLOB") { return .data }
        if ["REAL", "FLOA", "DOUB"].contains(where: { declared.contains($0) }) { return .double }
        return nil
    }

}

/// A database that is open for reading. https://www.sqlite.org/c3ref/intro.html
private final class SQLiteDatabase {
    private let path: String
    private var handle: OpaquePointer?

    init(_ path: String) throws {
        self.path = path
        let code = sqlite3_open_v2(path, &handle, SQLITE_OPEN_READONLY, nil)
        guard code == SQLITE_OK else { throw unreadable("cannot be opened: \(message)") }
        sqlite3_busy_timeout(handle, 5000)
    }

    deinit { sqlite3_close_v2(handle) }

    private var message: String { handle.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory" }

    func unreadable(_ reason: String) -> UnreadableFile { UnreadableFile(path: path, reason: reason) }

    /// Prepares a statement, whose parameter, if any, is a text.
    func prepare(_ sql: String, _ parameter: String? = nil) throws -> SQLiteStatement {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK, let statement else {
            throw unreadable("cannot be read: \(message)")
        }
        let prepared = SQLiteStatement(statement) { [unowned self] in unreadable("cannot be read: \(message)") }
        if let parameter { prepared.bind(parameter) }
        return prepared
    }

    /// Returns the texts of a query's first column.
    func texts(_ sql: String) throws -> [String] {
        let statement = try prepare(sql)
        var texts: [String] = []
        while try statement.step() { texts.append(statement.text(0)) }
        return texts
    }

    static func quoted(_ name: String) -> String {
        "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }
}

private final class SQLiteStatement {
    private let handle: OpaquePointer
    private let fault: () -> UnreadableFile

    init(_ handle: OpaquePointer, _ fault: @escaping () -> UnreadableFile) {
        (self.handle, self.fault) = (handle, fault)
    }

    deinit { sqlite3_finalize(handle) }

    func bind(_ text: String) {
        // SQLITE_TRANSIENT: SQLite copies the text.
        sqlite3_bind_text(handle, 1, text, -1, unsafeBitCast(-1, to: sqlite3_destructor_type.self))
    }

    /// Goes to the next row. Returns false after the last one.
    func step() throws -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw fault()
        }
    }

    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    func text(_ column: Int32) -> String { sqlite3_column_text(handle, column).map { String(cString: $0) } ?? "" }

    /// Appends the value of the current row's column.
    func append(_ column: Int, isBoolean: Bool, to row: inout FieldRow) {
        let place = Int32(truncatingIfNeeded: column)
        switch sqlite3_column_type(handle, place) {
        case SQLITE_NULL: row.appendNull()
        case SQLITE_INTEGER:
            let number = sqlite3_column_int64(handle, place)
            let isWord = isBoolean && (number == 0 || number == 1)
            append(isWord ? (number == 1 ? "true" : "false") : String(number), to: &row)
        case SQLITE_FLOAT: append("\(sqlite3_column_double(handle, place))", to: &row)
        case SQLITE_BLOB: append(hexadecimal(place), to: &row)
        default:
            row.append(
                UnsafeRawBufferPointer(
                    start: sqlite3_column_text(handle, place), count: Int(sqlite3_column_bytes(handle, place))))
        }
    }

    private func append(_ text: String, to row: inout FieldRow) {
        var text = text
        text.withUTF8 { row.append(UnsafeRawBufferPointer($0)) }
    }

    private func hexadecimal(_ column: Int32) -> String {
        let bytes = UnsafeRawBufferPointer(
            start: sqlite3_column_blob(handle, column), count: Int(sqlite3_column_bytes(handle, column)))
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
