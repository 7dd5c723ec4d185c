internal import CFetchIndexSQLite
internal import FetchIndexCLibrary
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
    /// The columns without a declared type that have bytes: each of their values must be bytes.
    private var bytesColumns: Set<Int> = []
    // Nothing is decompressed.
    var decompressesAhead = false

    /// Opens a table; if `name` is nil, the database's only table. Throws `UnreadableFile`.
    init(_ path: String, table name: String?) throws {
        database = try SQLiteDatabase(path)
        // All statements see one state.
        try database.run("BEGIN")
        let tables = try database.texts(
            "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
        )
        let list = tables.prefix(20).joined(separator: ", ").excerpt
        guard let table = name ?? (tables.count == 1 ? tables[0] : nil) else {
            throw database.unreadable(tables.isEmpty ? "has no tables" : "has the tables \(list): name one")
        }
        self.table = table
        var (columns, declared, keys): ([String], [String], [String]) = ([], [], [])
        // Columns with hidden 2 and 3 are generated; 1 is of hidden columns of virtual tables.
        let statement = try database.prepare(
            "SELECT name, type, pk FROM pragma_table_xinfo(?1) WHERE hidden <> 1", table)
        while try statement.step() {
            let column = statement.text(0)
            columns.append(column)
            declared.append(statement.text(1).uppercased())
            if statement.integer(2) > 0 { keys.append(column) }
        }
        guard !columns.isEmpty else { throw database.unreadable("has no table \"\(table.excerpt)\", only \(list)") }
        (self.columns, self.declared) = (columns, declared)
        primaryKey = keys.count == 1 ? keys[0] : nil
        for column in columns.indices where Self.type(ofDeclared: declared[column]) == nil {
            if try hasBytes(column) { bytesColumns.insert(column) }
        }
    }

    /// The number of rows that were read so far, and 0, because the number of all is unknown.
    var progress: (done: Int, total: Int) { (rowCount, 0) }

    func forEachRow(_ body: (FieldRow) throws -> Void, bad: (BadInput) throws -> Void) throws {
        let names = columns.map(SQLiteDatabase.quoted).joined(separator: ", ")
        let statement = try database.prepare("SELECT \(names) FROM \(SQLiteDatabase.quoted(table))")
        let areBooleans = declared.map(Self.isBoolean)
        let types = declared.enumerated().map { bytesColumns.contains($0) ? .data : Self.type(ofDeclared: $1) }
        let key = primaryKey.flatMap { columns.firstIndex(of: $0) }
        var keyClass: Int32?
        var row = FieldRow()
        rowCount = 0
        while try statement.step() {
            rowCount += 1
            row.begin(line: rowCount)
            var misfit: Int?
            for column in columns.indices {
                if !statement.fits(column, types[column]) { misfit = misfit ?? column }
                statement.append(column, isBoolean: areBooleans[column], to: &row)
            }
            if let key, types[key] == nil {
                // 1 and '1' are two keys for SQLite, but may be one text here.
                let own = statement.keyClass(key)
                if own != keyClass ?? own { misfit = misfit ?? key }
                keyClass = keyClass ?? own
            }
            guard let misfit else {
                try body(row)
                continue
            }
            try bad(
                BadInput(
                    file: database.path, line: rowCount, column: misfit + 1, columnName: columns[misfit],
                    reason: "it has \(statement.className(misfit)), unlike the column's type or its other values"))
        }
    }

    /// Returns the declared types. If a column has no declared type, its type is inferred from all values, as in CSV.
    func inferTypes(of asked: Set<Int>, key: String?) throws -> [ValueType] {
        var types = declared.map(Self.type(ofDeclared:))
        let open = asked.filter { types[$0] == nil }
        if !open.isEmpty {
            let inferred = readTypes(of: open, key: key)
            for column in open { types[column] = bytesColumns.contains(column) ? .data : inferred[column] }
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
    let path: String
    private let sqlite: fi_sqlite
    private var handle: OpaquePointer?

    init(_ path: String) throws {
        self.path = path
        // SQLite would wait for a pipe's writer.
        var status = stat()
        if path == CatalogueInput.standardInput || stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG {
            throw UnreadableFile(
                path: CatalogueInput.name(of: path), reason: "cannot be read as a database, because it is not a file")
        }
        var fault: UnsafePointer<CChar>?
        guard let functions = fi_sqlite_load(&fault) else {
            let reason = fault.map { String(cString: $0) } ?? ""
            throw UnreadableFile(path: path, reason: "cannot be read as a database: \(reason)")
        }
        sqlite = functions.pointee
        let code = sqlite.open(path, &handle, SQLITE_OPEN_READONLY, nil)
        guard code == SQLITE_OK else { throw unreadable("cannot be opened: \(message)") }
        _ = sqlite.busy_timeout(handle, 5000)
    }

    deinit { _ = sqlite.close(handle) }

    private var message: String { handle.flatMap { sqlite.message($0) }.map { String(cString: $0) } ?? "out of memory" }

    func unreadable(_ reason: String) -> UnreadableFile { UnreadableFile(path: path, reason: reason) }

    /// Prepares a statement, whose parameter, if any, is a text.
    func prepare(_ sql: String, _ parameter: String? = nil) throws -> SQLiteStatement {
        var statement: OpaquePointer?
        guard sqlite.prepare(handle, sql, -1, &statement, nil) == SQLITE_OK, let statement else {
            throw unreadable("cannot be read: \(message)")
        }
        let prepared = SQLiteStatement(statement, sqlite) { [unowned self] in unreadable("cannot be read: \(message)") }
        if let parameter { prepared.bind(parameter) }
        return prepared
    }

    /// Runs a statement that has no rows.
    func run(_ sql: String) throws { while try prepare(sql).step() {} }

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
    private let sqlite: fi_sqlite
    private let handle: OpaquePointer
    private let fault: () -> UnreadableFile

    init(_ handle: OpaquePointer, _ sqlite: fi_sqlite, _ fault: @escaping () -> UnreadableFile) {
        (self.handle, self.sqlite, self.fault) = (handle, sqlite, fault)
    }

    deinit { _ = sqlite.finalize(handle) }

    func bind(_ text: String) {
        // SQLITE_TRANSIENT: SQLite copies the text.
        _ = sqlite.bind_text(handle, 1, text, -1, unsafeBitCast(-1, to: sqlite3_destructor_type.self))
    }

    /// Goes to the next row. Returns false after the last one.
    func step() throws -> Bool {
        switch sqlite.step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw fault()
        }
    }

    func integer(_ column: Int32) -> Int64 { sqlite.column_int64(handle, column) }

    func text(_ column: Int32) -> String { sqlite.column_text(handle, column).map { String(cString: $0) } ?? "" }

    /// Whether the storage class of the current row's value is that of a type; nil is any type. Other texts than numbers in
    /// a column of numbers are left to the conversion, which refuses them.
    func fits(_ column: Int, _ type: ValueType?) -> Bool {
        let place = Int32(truncatingIfNeeded: column)
        let storage = sqlite.column_type(handle, place)
        if storage == SQLITE_NULL { return true }
        switch type {
        case nil: return true
        case .data: return storage == SQLITE_BLOB
        case .string: return storage != SQLITE_BLOB
        default:
            // An empty text would be null.
            return storage != SQLITE_BLOB && (storage != SQLITE3_TEXT || sqlite.column_bytes(handle, place) > 0)
        }
    }

    /// The storage class of a key, where integers and reals are one.
    func keyClass(_ column: Int) -> Int32 {
        let storage = sqlite.column_type(handle, Int32(truncatingIfNeeded: column))
        return storage == SQLITE_FLOAT ? SQLITE_INTEGER : storage
    }

    /// The class of the current row's value in words.
    func className(_ column: Int) -> String {
        let place = Int32(truncatingIfNeeded: column)
        switch sqlite.column_type(handle, place) {
        case SQLITE_INTEGER, SQLITE_FLOAT: return "a number"
        case SQLITE_BLOB: return "bytes"
        case SQLITE_NULL: return "null"
        default: return sqlite.column_bytes(handle, place) == 0 ? "an empty text" : "a text"
        }
    }

    /// Appends the value of the current row's column.
    func append(_ column: Int, isBoolean: Bool, to row: inout FieldRow) {
        let place = Int32(truncatingIfNeeded: column)
        switch sqlite.column_type(handle, place) {
        case SQLITE_NULL: row.appendNull()
        case SQLITE_INTEGER:
            let number = sqlite.column_int64(handle, place)
            let isWord = isBoolean && (number == 0 || number == 1)
            append(isWord ? (number == 1 ? "true" : "false") : String(number), to: &row)
        case SQLITE_FLOAT: append("\(sqlite.column_double(handle, place))", to: &row)
        case SQLITE_BLOB: append(hexadecimal(place), to: &row)
        default:
            row.append(
                UnsafeRawBufferPointer(
                    start: sqlite.column_text(handle, place), count: Int(sqlite.column_bytes(handle, place))))
        }
    }

    private func append(_ text: String, to row: inout FieldRow) {
        var text = text
        text.withUTF8 { row.append(UnsafeRawBufferPointer($0)) }
    }

    private func hexadecimal(_ column: Int32) -> String {
        let bytes = UnsafeRawBufferPointer(
            start: sqlite.column_blob(handle, column), count: Int(sqlite.column_bytes(handle, column)))
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(2 * bytes.count)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}
