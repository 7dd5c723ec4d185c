internal import FetchIndexCLibrary
internal import FetchIndexEssentials
internal import FetchIndexPlatform

/// A private copy of a store of Core Data: an SQLite database, and the log with its newest changes. The store itself is
/// only read, because even SQLite's reading writes files beside a database.
///
///     NAME            the database
///     NAME-wal        changes that are not in the database yet (write-ahead log); often most of them
///     NAME-journal    what an interrupted change of a database without such a log has replaced
///
/// On Linux, the copy's files have no names any more once they are open, so that nothing remains of a process that ends
/// after that.
final class StoreCopy {
    /// The bytes with which every SQLite database begins.
    static let magic = Array("SQLite format 3\0".utf8)

    let path: String
    private let folder: String
    let database: StoreDatabase
    /// Whether the database says that it has a log, and the log isn't there.
    let lacksLog: Bool
    /// A hash of the bytes of the database and its log, and of the names and lengths of the files of large values.
    let contents: Int64

    /// Copies a store and checks the copy. If the database changes while it's copied, copies again, a few times. If the
    /// copy is damaged and `salvages`, rows are looked up one by one. Throws `CoreDataFileError`. O(bytes).
    init(_ path: String, salvages: Bool = false) throws {
        self.path = path
        (folder, database, lacksLog, contents) = try Self.copy(path)
        let defects = try Self.defects(of: database, path)
        if defects.isEmpty { return }
        database.isDamaged = true
        if !salvages { throw Self.damaged(path, defects[0]) }
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private static func failed(_ path: String, _ failure: StoreDatabase.Failure) -> CoreDataFileError {
        switch failure.kind {
        case .damaged: damaged(path, failure.reason)
        case .notDatabase: CoreDataFileError(path: path, reason: "it is not an SQLite database")
        case .other: CoreDataFileError(path: path, reason: "it cannot be read: \(failure.reason)")
        }
    }

    private static func damaged(_ path: String, _ reason: String) -> CoreDataFileError {
        CoreDataFileError(path: path, reason: "the database is damaged: \(reason)", remedy: .salvages)
    }

    /// The first defect that SQLite finds in tables; empty if it finds none. Throws `CoreDataFileError`.
    private static func defects(of database: StoreDatabase, _ path: String) throws -> [String] {
        do {
            let found = try database.texts("PRAGMA quick_check(1)")
            return found == ["ok"] ? [] : found.isEmpty ? ["it cannot be checked"] : found
        } catch let error as StoreDatabase.Failure where error.kind == .damaged {
            return [error.reason]
        } catch let error as StoreDatabase.Failure { throw failed(path, error) }
    }

    private static let mostCopies = 20

    /// Copies the files so that they are one state, although an app may write meanwhile. It moves pages from the log into
    /// the database, so a copy may have old pages beside new ones. The log is copied after the database, so it has all of
    /// these pages, unless the app began the log again; then its header has another salt. Without a log, the database
    /// must be the same as its copy afterwards. https://www.sqlite.org/fileformat2.html#walformat
    private static func copyFiles(_ path: String, to target: String) throws {
        let files = FileManager.default
        // A copy of a symbolic link would lead to the store itself.
        let source = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        func logHeader() -> [UInt8]? {
            let header = (try? SmallFile.bytes(of: source + "-wal", limit: 32)) ?? []
            return header.count == 32 ? header : nil
        }
        for attempt in 1...mostCopies {
            let before = logHeader()
            do {
                for suffix in ["", "-wal", "-journal"] {
                    try? files.removeItem(atPath: target + suffix)
                    // An app may remove these at any time.
                    if suffix != "" && !files.fileExists(atPath: source + suffix) { continue }
                    try files.copyItem(atPath: source + suffix, toPath: target + suffix)
                }
            } catch {
                let reason = (error as? CocoaError)?.code == .fileWriteOutOfSpace ? ": the disk is full" : ""
                if files.isReadableFile(atPath: source) && reason == "" && attempt < mostCopies { continue }
                let problem = files.isReadableFile(atPath: source) ? "copied to \(target)\(reason)" : "read"
                throw CoreDataFileError(path: path, reason: "it cannot be \(problem)")
            }
            if before != nil, logHeader() == before { return }
            if files.contentsEqual(atPath: source, andPath: target) { return }
            // Milliseconds, so that a busy app gets a second in all.
            usleep(UInt32(attempt * 5000))
        }
        throw CoreDataFileError(path: path, reason: "an app writes it all the time; import it when the app rests")
    }

    private static func copy(
        _ path: String
    ) throws -> (folder: String, database: StoreDatabase, lacksLog: Bool, contents: Int64) {
        let files = FileManager.default
        let folder = files.temporaryDirectory.path + "/fetchindex-coredata-" + UUID().uuidString
        do {
            try files.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch { throw CoreDataFileError(path: path, reason: "no folder for a private copy can be made: \(folder)") }
        do {
            let target = folder + "/store"
            try copyFiles(path, to: target)
            let start = (try? SmallFile.bytes(of: target, limit: 20)) ?? []
            // The file format's version for writing, in the database's header, is 2 if there is a log.
            let contents = Self.contents(of: target, path)
            let lacksLog = start.count == 20 && start[18] == 2 && !files.fileExists(atPath: target + "-wal")
            do {
                let database = try StoreDatabase(target)
                // This opens the log.
                _ = try? database.texts("SELECT name FROM sqlite_master LIMIT 1")
                #if os(Linux)
                    try files.removeItem(atPath: folder)
                #endif
                return (folder, database, lacksLog, contents)
            } catch let error as StoreDatabase.Failure { throw failed(path, error) }
        } catch {
            try? files.removeItem(atPath: folder)
            throw error
        }
    }

    private static func contents(of copy: String, _ path: String) -> Int64 {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 20)
        for suffix in ["", "-wal", "-journal"] {
            guard let file = try? OpenFile(copy + suffix, O_RDONLY) else { continue }
            bytes.appendText(suffix)
            while true {
                let count = piece.withUnsafeMutableBytes { read(file.descriptor, $0.baseAddress, $0.count) }
                if count <= 0 { break }
                let span = piece.span.bytes
                bytes.appendNumber(span.extracting(first: count).hash)
            }
        }
        let folder = largeValues(of: path)
        for name in (Folder.names(in: folder) ?? []).sorted() {
            bytes.appendText(name)
            if case .file(let length)? = try? Folder.kind(at: folder + "/" + name) {
                bytes.appendVarint(UInt64(length))
            }
        }
        let all = bytes.span.bytes
        return Int64(bitPattern: all.hash)
    }

    // MARK: Core Data

    /// Calls the body, and throws a failure of SQLite as `CoreDataFileError`.
    func reading<Result>(_ body: (StoreDatabase) throws -> Result) throws -> Result {
        do { return try body(database) } catch let error as StoreDatabase.Failure {
            throw Self.failed(path, error)
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
                try database.hasRow("SELECT 1 FROM sqlite_master WHERE name = 'Z_METADATA' AND type = 'table'")
                    ? database.texts("SELECT Z_UUID FROM Z_METADATA LIMIT 1").first.flatMap(UUID.init) : nil
            }
        } catch  where database.isDamaged { return nil }
    }

    // MARK: Large values

    /// The greatest length of a large value in bytes.
    private static let greatestExternal = 1 << 30

    enum External {
        case file(path: String, length: Int)
        case missing
        case tooLarge
    }

    /// The folder of the files with large values.
    private static func largeValues(of path: String) -> String {
        let url = URL(fileURLWithPath: path).resolvingSymlinksInPath()
        let folder = ".\(url.deletingPathExtension().lastPathComponent)_SUPPORT/_EXTERNAL_DATA"
        return url.deletingLastPathComponent().appendingPathComponent(folder).path
    }

    /// The file of a large value, which lies in a folder beside the store.
    func external(named name: String) -> External {
        // A name that led out of the folder could be any file's.
        guard UUID(uuidString: name) != nil else { return .missing }
        let file = Self.largeValues(of: path) + "/" + name
        guard case .file(let length)? = try? Folder.kind(at: file), FileManager.default.isReadableFile(atPath: file)
        else { return .missing }
        return length <= Self.greatestExternal ? .file(path: file, length: length) : .tooLarge
    }

    /// Copies a file in pieces to a temporary one, and maps that: the app may cut the file off at any time.
    private static func copied(_ path: String) throws -> Data {
        let file = try OpenFile(path, O_RDONLY)
        let copy = try TemporaryFile(inFolder: TemporaryFile.folder, prefix: "fetchindex-value")
        var piece = [UInt8](repeating: 0, count: 1 << 20)
        while copy.length < greatestExternal {
            let count = piece.withUnsafeMutableBytes { read(file.descriptor, $0.baseAddress, $0.count) }
            if count < 0 { throw SystemError.last }
            if count == 0 { break }
            try piece.withUnsafeBytes { try copy.append(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
        guard copy.length > 0 else { return Data() }
        try copy.mapIntoMemory()
        return copy.bytes.withUnsafeBytes { bytes in
            // Nobody writes to the bytes of data that isn't changed.
            let start = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
            guard let start else { return Data() }
            return Data(
                bytesNoCopy: start, count: bytes.count, deallocator: .custom { _, _ in withExtendedLifetime(copy) {} })
        }
    }

    /// The content of a large value's file. Throws `CoreDataFileError` if it can't be read.
    func content(ofExternal file: String, isLarge: Bool) throws -> Data {
        let bytes = isLarge ? try? Self.copied(file) : try? Data(contentsOf: URL(fileURLWithPath: file))
        guard let bytes, bytes.count <= Self.greatestExternal else {
            throw CoreDataFileError(path: file, reason: "the value in the file cannot be read any more")
        }
        return bytes
    }
}
