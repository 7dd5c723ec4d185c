internal import CFetchIndexSQLite
internal import FetchIndexEssentials
internal import FetchIndexPlatform

/// A private copy of a store of Core Data: an SQLite database, and the log with its newest changes. The store itself is
/// only read, because even SQLite's reading writes files beside a database. The copy is removed with the value.
///
///     NAME        the database
///     NAME-wal    changes that are not in the database yet (write-ahead log); often most of them
final class StoreCopy {
    /// The bytes with which every SQLite database begins.
    static let magic = Array("SQLite format 3\0".utf8)

    private let path: String
    private let folder: String
    private let sqlite: fi_sqlite
    private var handle: OpaquePointer?
    /// Whether the database says that it has a log, and the log isn't there.
    private(set) var lacksLog = false

    /// Copies a store and checks the copy. If an app wrote meanwhile, so that the copy is damaged, copies again, once.
    /// Throws `CoreDataFileError`. O(bytes).
    init(_ path: String) throws {
        self.path = path
        folder = FileManager.default.temporaryDirectory.path + "/fetchindex-coredata-" + UUID().uuidString
        var fault: UnsafePointer<CChar>?
        guard let functions = fi_sqlite_load(&fault) else {
            throw CoreDataFileError(path: path, reason: fault.map { String(cString: $0) } ?? "SQLite is missing")
        }
        sqlite = functions.pointee
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch { throw CoreDataFileError(path: path, reason: "no folder for a private copy can be made: \(folder)") }
        try copy()
        if try texts("PRAGMA quick_check(1)") != ["ok"] {
            close()
            try copy()
            let defects = try texts("PRAGMA quick_check(1)")
            guard defects == ["ok"] else { throw damaged(defects.first ?? "it cannot be checked") }
        }
    }

    deinit {
        close()
        try? FileManager.default.removeItem(atPath: folder)
    }

    private func close() {
        _ = sqlite.close(handle)
        handle = nil
    }

    private func damaged(_ reason: String) -> CoreDataFileError {
        CoreDataFileError(path: path, reason: "the database is damaged: \(reason)")
    }

    private func copy() throws {
        let files = FileManager.default
        let target = folder + "/store"
        for name in try files.contentsOfDirectory(atPath: folder) { try files.removeItem(atPath: folder + "/" + name) }
        do {
            // A copy of a symbolic link would lead to the store itself.
            let source = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
            try files.copyItem(atPath: source, toPath: target)
            if try SmallFile.bytes(of: source + "-wal", limit: 1) != nil {
                try files.copyItem(atPath: source + "-wal", toPath: target + "-wal")
            }
        } catch { throw CoreDataFileError(path: path, reason: "it cannot be copied to \(folder)") }
        let start = (try? SmallFile.bytes(of: target, limit: 20)) ?? []
        // The file format's version for writing, in the database's header, is 2 if there is a log.
        lacksLog = start.count == 20 && start[18] == 2 && !files.fileExists(atPath: target + "-wal")
        guard sqlite.open(target, &handle, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK else { throw damaged(message) }
        // Nothing of the schema may call functions that can do harm.
        _ = try texts("PRAGMA trusted_schema = OFF")
    }

    private var message: String { handle.flatMap { sqlite.message($0) }.map { String(cString: $0) } ?? "out of memory" }

    /// The texts in the first column of a query. Throws `CoreDataFileError`.
    func texts(_ query: String) throws -> [String] {
        var texts: [String] = []
        try forEachRow(query) { statement in
            if let text = sqlite.column_text(statement, 0) { texts.append(String(cString: text)) }
        }
        return texts
    }

    /// The bytes in the first column of a query's first row; nil without a row, and for null.
    private func bytes(_ query: String) throws -> [UInt8]? {
        var bytes: [UInt8]?
        try forEachRow(query) { statement in
            guard bytes == nil, sqlite.column_type(statement, 0) != SQLITE_NULL else { return }
            let start = sqlite.column_blob(statement, 0)
            bytes = Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite.column_bytes(statement, 0))))
        }
        return bytes
    }

    private func forEachRow(_ query: String, _ body: (OpaquePointer) -> Void) throws {
        var statement: OpaquePointer?
        guard sqlite.prepare(handle, query, -1, &statement, nil) == SQLITE_OK, let statement else {
            throw damaged(message)
        }
        defer { _ = sqlite.finalize(statement) }
        while true {
            switch sqlite.step(statement) {
            case SQLITE_ROW: body(statement)
            case SQLITE_DONE: return
            default: throw damaged(message)
            }
        }
    }

    // MARK: Core Data

    /// The archive of the model that the store has of itself. Throws `CoreDataFileError` if the database isn't a store of
    /// Core Data, or if it has no model: Core Data stores it since about 2018.
    func modelArchive() throws -> [UInt8] {
        let tables = try texts("SELECT name FROM sqlite_master WHERE type = 'table'")
        guard tables.contains("Z_PRIMARYKEY") else {
            throw CoreDataFileError(
                path: path, reason: "the database has no table Z_PRIMARYKEY, so it is not a store of Core Data")
        }
        guard tables.contains("Z_MODELCACHE"), let packed = try bytes("SELECT Z_CONTENT FROM Z_MODELCACHE LIMIT 1")
        else {
            throw CoreDataFileError(
                path: path, reason: "the store does not contain its model; read the app's model instead")
        }
        guard let archive = Deflated.unpack(packed) else {
            throw CoreDataFileError(path: path, reason: "the store's model is damaged")
        }
        return archive
    }
}
