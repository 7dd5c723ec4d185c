internal import CFetchIndexSQLite
internal import FetchIndexPlatform

/// The private copy of a store, open in SQLite. Only one thread at a time may use it.
/// https://www.sqlite.org/c3ref/intro.html
final class StoreDatabase {
    /// Why a query failed, in SQLite's words.
    struct Failure: Error {
        enum Kind { case damaged, notDatabase, other }

        let kind: Kind
        let reason: String

        init(_ code: Int32, _ reason: String) {
            // The lowest byte is the code without details. https://www.sqlite.org/rescode.html
            switch code & 0xFF {
            case SQLITE_CORRUPT, SQLITE_IOERR: kind = .damaged
            case SQLITE_NOTADB: kind = .notDatabase
            default: kind = .other
            }
            self.reason = reason
        }
    }

    private let sqlite: fi_sqlite
    private var handle: OpaquePointer?
    /// Whether rows are looked up one by one, because the database is damaged.
    var isDamaged = false
    /// The length of the database and its log.
    private let byteCount: Int

    /// Opens a database. Throws `Failure`.
    init(_ path: String) throws {
        var fault: UnsafePointer<CChar>?
        guard let functions = fi_sqlite_load(&fault) else {
            throw Failure(SQLITE_ERROR, fault.map { String(cString: $0) } ?? "SQLite is missing")
        }
        sqlite = functions.pointee
        byteCount = [path, path + "-wal"].reduce(0) { sum, path in
            if case .file(let length)? = try? Folder.kind(at: path) { sum + length } else { sum }
        }
        let code = sqlite.open(path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK else { throw Failure(code, message) }
        // Nothing of the schema may call functions that can do harm. No other process has the copy, so SQLite needs no
        // file that is shared with others.
        for setting in ["trusted_schema = OFF", "cell_size_check = ON", "locking_mode = EXCLUSIVE"] {
            _ = try texts("PRAGMA " + setting)
        }
    }

    deinit { _ = sqlite.close(handle) }

    private var message: String { handle.flatMap { sqlite.message($0) }.map { String(cString: $0) } ?? "out of memory" }

    /// A name as SQL has it.
    static func quoted(_ name: String) -> String { "\"" + name.replacing("\"", with: "\"\"") + "\"" }

    /// A row of a query's result, which is valid until the next row is read.
    struct Row {
        fileprivate let sqlite: fi_sqlite
        fileprivate let statement: OpaquePointer

        /// The storage class of a value. https://www.sqlite.org/datatype3.html
        enum Kind { case null, integer, real, text, bytes }

        func kind(_ column: Int) -> Kind {
            switch sqlite.column_type(statement, Int32(column)) {
            case SQLITE_INTEGER: .integer
            case SQLITE_FLOAT: .real
            case SQLITE_TEXT: .text
            case SQLITE_BLOB: .bytes
            default: .null
            }
        }

        /// An integer; nil for a value of another class.
        func integer(_ column: Int) -> Int64? {
            kind(column) == .integer ? sqlite.column_int64(statement, Int32(column)) : nil
        }

        /// A number as a double. Only for integers and reals.
        func double(_ column: Int) -> Double { sqlite.column_double(statement, Int32(column)) }

        /// A text; nil for a value of another class. Bytes that aren't UTF-8 are replaced.
        func text(_ column: Int) -> String? { validText(column)?.text }

        /// A text, and whether it's UTF-8 as it's stored; nil for a value of another class.
        func validText(_ column: Int) -> (text: String, isValid: Bool)? {
            guard kind(column) == .text, let start = sqlite.column_text(statement, Int32(column)) else { return nil }
            let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite.column_bytes(statement, Int32(column))))
            if let text = String(validating: bytes, as: UTF8.self) { return (text, true) }
            return (String(decoding: bytes, as: UTF8.self), false)
        }

        /// The bytes of a value; of a text its UTF-8; nil for a number or null.
        func bytes(_ column: Int) -> [UInt8]? {
            guard [.text, .bytes].contains(kind(column)) else { return nil }
            let start = sqlite.column_blob(statement, Int32(column))
            return Array(
                UnsafeRawBufferPointer(start: start, count: Int(sqlite.column_bytes(statement, Int32(column)))))
        }
    }

    private func prepare(_ query: String) throws -> OpaquePointer {
        var statement: OpaquePointer?
        let code = sqlite.prepare(handle, query, -1, &statement, nil)
        guard code == SQLITE_OK, let statement else { throw Failure(code, message) }
        return statement
    }

    /// Calls the body with each row of a query's result. Throws `Failure`, and rethrows the body's errors.
    func forEachRow(_ query: String, _ body: (Row) throws -> Void) throws {
        let statement = try prepare(query)
        defer { _ = sqlite.finalize(statement) }
        let row = Row(sqlite: sqlite, statement: statement)
        while true {
            let code = sqlite.step(statement)
            switch code {
            case SQLITE_ROW: try body(row)
            case SQLITE_DONE: return
            default: throw Failure(code, message)
            }
        }
    }

    /// The texts in the first column of a query. Throws `Failure`.
    func texts(_ query: String) throws -> [String] {
        var texts: [String] = []
        try forEachRow(query) { row in if let text = row.text(0) { texts.append(text) } }
        return texts
    }

    /// Whether a query finds a row. Throws `Failure`.
    func hasRow(_ query: String) throws -> Bool {
        var found = false
        try forEachRow(query) { _ in found = true }
        return found
    }

    // MARK: Tables

    /// Calls the body with the rows of a table that have one of these keys, in their order. `key` is the column of the
    /// keys, `condition` another condition. Throws `Failure`, and rethrows the body's errors. O(k log n).
    func forEachRow(
        of table: String, _ columns: [String], key: String, in keys: [Int64], where condition: String?,
        _ body: (Row) throws -> Void
    ) throws {
        let own = condition.map { " AND \($0)" } ?? ""
        let statement = try prepare(
            "SELECT \(columns.joined(separator: ", ")) FROM \(Self.quoted(table)) WHERE \(key) = ?1\(own)")
        defer { _ = sqlite.finalize(statement) }
        let row = Row(sqlite: sqlite, statement: statement)
        for key in keys {
            _ = sqlite.reset(statement)
            let code = sqlite.bind_int64(statement, 1, key)
            guard code == SQLITE_OK else { throw Failure(code, message) }
            let step = sqlite.step(statement)
            if step == SQLITE_ROW { try body(row) } else if step != SQLITE_DONE { throw Failure(step, message) }
        }
    }

    /// Calls the body with the rows of a table, by ascending keys. `key` is the column of the keys, `condition` another
    /// condition. If the database is damaged, each row that `isWanted` is looked up by its key, up to the greatest key
    /// that is found or `greatest`, but at most to the number of the database's bytes; rows with greater keys are read as
    /// far as that goes. `unreadable` gets the keys that can't be read. Throws `Failure` if a database that isn't damaged
    /// can't be read, and rethrows the body's errors.
    func forEachRow(
        of table: String, _ columns: [String], key: String, where condition: String? = nil, upTo greatest: Int64 = 0,
        isWanted: (Int64) -> Bool = { _ in true }, unreadable: (Int64) -> Void = { _ in }, _ body: (Row) throws -> Void
    ) throws {
        let source = "\(columns.joined(separator: ", ")) FROM \(Self.quoted(table))"
        if !isDamaged {
            let start = condition.map { " WHERE \($0)" } ?? ""
            return try forEachRow("SELECT \(source)\(start) ORDER BY \(key)", body)
        }
        let own = condition.map { " AND \($0)" } ?? ""
        let statement = try prepare("SELECT \(source) NOT INDEXED WHERE \(key) = ?1\(own)")
        defer { _ = sqlite.finalize(statement) }
        let row = Row(sqlite: sqlite, statement: statement)
        let last = min(max(greatest, greatestKey(of: table, key)), Int64(clamping: byteCount))
        for key in stride(from: 1, through: last, by: 1) where isWanted(key) {
            _ = sqlite.reset(statement)
            let code = sqlite.bind_int64(statement, 1, key)
            guard code == SQLITE_OK else { throw Failure(code, message) }
            switch sqlite.step(statement) {
            case SQLITE_ROW: try body(row)
            case SQLITE_DONE: break
            default: unreadable(key)
            }
        }
        do {
            try forEachRow("SELECT \(source) NOT INDEXED WHERE \(key) > \(last)\(own) ORDER BY \(key)", body)
        } catch is Failure {}
    }

    /// The greatest key of a damaged table that is found from its end or from its beginning.
    private func greatestKey(of table: String, _ key: String) -> Int64 {
        var greatest: Int64 = 0
        for order in ["\(key) DESC LIMIT 1", key] {
            try? forEachRow("SELECT \(key) FROM \(Self.quoted(table)) NOT INDEXED ORDER BY \(order)") { row in
                greatest = max(greatest, row.integer(0) ?? 0)
            }
        }
        return greatest
    }
}
