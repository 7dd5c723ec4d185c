internal import FetchIndexEssentials
internal import FetchIndexPlatform

/// A private copy of a store of Core Data: an SQLite database, and the log with its newest changes. The store itself is
/// only read, because even SQLite's reading writes files beside a database.
///
///     NAME            the database
///     NAME-wal        changes that are not in the database yet (write-ahead log); often most of them
///     NAME-journal    what an interrupted change of a database without such a log has replaced
///
/// On Linux, the copy's files have no names any more once they are open, so that nothing remains of an ended process.
final class StoreCopy {
    /// The bytes with which every SQLite database begins.
    static let magic = Array("SQLite format 3\0".utf8)

    let path: String
    private let folder: String
    let database: StoreDatabase
    /// Whether the database says that it has a log, and the log isn't there.
    let lacksLog: Bool

    /// Copies a store and checks the copy. If an app wrote meanwhile, so that the copy is damaged, copies again, once. If
    /// it is damaged again and `salvages`, rows are looked up one by one. Throws `CoreDataFileError`. O(bytes).
    init(_ path: String, salvages: Bool = false) throws {
        self.path = path
        var made = try Self.copy(path)
        var defects = Self.defects(of: made.database)
        if !defects.isEmpty && !salvages {
            try? FileManager.default.removeItem(atPath: made.folder)
            made = try Self.copy(path)
            defects = Self.defects(of: made.database)
        }
        (folder, database, lacksLog) = made
        if defects.isEmpty { return }
        database.isDamaged = true
        if !salvages {
            // Without a statement here, Swift would not run deinit of a value that isn't whole.
            try? FileManager.default.removeItem(atPath: folder)
            throw Self.damaged(path, defects[0])
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private static func damaged(_ path: String, _ reason: String) -> CoreDataFileError {
        CoreDataFileError(path: path, reason: "the database is damaged: \(reason)", remedy: .salvages)
    }

    /// The first defect that SQLite finds in tables; empty if it finds none.
    private static func defects(of database: StoreDatabase) -> [String] {
        do {
            let found = try database.texts("PRAGMA quick_check(1)")
            return found == ["ok"] ? [] : found.isEmpty ? ["it cannot be checked"] : found
        } catch {
            return [(error as? StoreDatabase.Failure)?.reason ?? "\(error)"]
        }
    }

    private static func copy(_ path: String) throws -> (folder: String, database: StoreDatabase, lacksLog: Bool) {
        let files = FileManager.default
        let folder = files.temporaryDirectory.path + "/fetchindex-coredata-" + UUID().uuidString
        do {
            try files.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch { throw CoreDataFileError(path: path, reason: "no folder for a private copy can be made: \(folder)") }
        do {
            let target = folder + "/store"
            do {
                // A copy of a symbolic link would lead to the store itself.
                let source = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
                try files.copyItem(atPath: source, toPath: target)
                for suffix in ["-wal", "-journal"] where files.fileExists(atPath: source + suffix) {
                    try files.copyItem(atPath: source + suffix, toPath: target + suffix)
                }
            } catch { throw CoreDataFileError(path: path, reason: "it cannot be copied to \(folder)") }
            let start = (try? SmallFile.bytes(of: target, limit: 20)) ?? []
            // The file format's version for writing, in the database's header, is 2 if there is a log.
            let lacksLog = start.count == 20 && start[18] == 2 && !files.fileExists(atPath: target + "-wal")
            do {
                let database = try StoreDatabase(target)
                // This opens the log.
                _ = try? database.texts("SELECT name FROM sqlite_master LIMIT 1")
                #if os(Linux)
                    try files.removeItem(atPath: folder)
                #endif
                return (folder, database, lacksLog)
            } catch let error as StoreDatabase.Failure { throw damaged(path, error.reason) }
        } catch {
            try? files.removeItem(atPath: folder)
            throw error
        }
    }

    // MARK: Core Data

    /// Calls the body, and throws a failure of SQLite as `CoreDataFileError`.
    func reading<Result>(_ body: (StoreDatabase) throws -> Result) throws -> Result {
        do { return try body(database) } catch let error as StoreDatabase.Failure {
            throw Self.damaged(path, error.reason)
        }
    }

    var notCoreData: CoreDataFileError {
        CoreDataFileError(
            path: path, reason: "the database has no table Z_PRIMARYKEY, so it is not a store of Core Data")
    }

    /// The archive of the model that the store has of itself; nil if it has none: Core Data stores it since about 2018.
    /// Throws `CoreDataFileError`, for example if the database isn't a store of Core Data.
    func modelArchive() throws -> [UInt8]? {
        let tables = try reading { try $0.texts("SELECT name FROM sqlite_master WHERE type = 'table'") }
        guard tables.contains("Z_PRIMARYKEY") else { throw notCoreData }
        guard tables.contains("Z_MODELCACHE") else { return nil }
        var packed: [UInt8]?
        do {
            try reading { database in
                try database.forEachRow("SELECT Z_CONTENT FROM Z_MODELCACHE LIMIT 1") { packed = $0.bytes(0) }
            }
        } catch  where database.isDamaged { return nil }
        guard let packed else { return nil }
        guard let archive = Deflated.unpack(packed) else {
            throw CoreDataFileError(path: path, reason: "the store's model is damaged")
        }
        return archive
    }

    /// The identifier of the store; nil if it has none.
    func identifier() throws -> UUID? {
        do {
            return try reading { database in
                try database.hasRow("SELECT 1 FROM sqlite_master WHERE name = 'Z_METADATA'")
                    ? database.texts("SELECT Z_UUID FROM Z_METADATA LIMIT 1").first.flatMap(UUID.init) : nil
            }
        } catch  where database.isDamaged { return nil }
    }

    // MARK: Large values

    private static let greatestExternal = 1 << 30

    /// The path of a large value's file, which lies in a folder beside the store; nil if it's missing or larger than 1
    /// GiB.
    private func externalPath(_ name: String) -> String? {
        // A name that led out of the folder could be any file's.
        guard UUID(uuidString: name) != nil else { return nil }
        let url = URL(fileURLWithPath: path).resolvingSymlinksInPath()
        let folder = ".\(url.deletingPathExtension().lastPathComponent)_SUPPORT/_EXTERNAL_DATA/"
        let file = url.deletingLastPathComponent().appendingPathComponent(folder + name).path
        guard case .file(let length)? = try? Folder.kind(at: file), length <= Self.greatestExternal else { return nil }
        return file
    }

    /// Whether `external` finds a file.
    func hasExternal(named name: String) -> Bool { externalPath(name) != nil }

    /// The content of a large value's file; nil if it's missing or larger than 1 GiB.
    func external(named name: String) -> [UInt8]? {
        externalPath(name).flatMap { (try? SmallFile.bytes(of: $0, limit: Self.greatestExternal)) ?? nil }
    }
}
