internal import FetchIndexCLibrary
package import FetchIndexEssentials
package import FetchIndexPlatform
package import FetchIndexModels
package import FetchIndexLMDB
internal import Synchronization

/// A store: a folder with an LMDB environment that contains a model, records, their change log, and caches.
///
/// Processes of one machine can share it, on a local file system. Many snapshots can be open at the same time, but only
/// one writer.
package final class Store: Sendable {
    package struct Options: Sendable {
        package var isReadOnly = false
        package var durability = Durability.full
        /// If the log of a store that has caches is more than a quarter longer than this number of bytes, its oldest
        /// commits are deleted, whole, until at most this many bytes are left. Commits that a cache, an exact reader or
        /// a running build needs stay, within the log's limit. Contexts and history read the remaining commits.
        package var keptLogBytes: UInt64 = 16 << 20
        /// Whether the store is created if it's missing.
        package var creates = true
        /// The initial size of the memory map in bytes; less is mapped if address space is lacking. If it's nil,
        /// `Environment` chooses a size. Tests use a small map.
        package var mapSize: Int?
        /// The memory, in bytes, that the changed pages of a writer take before they are written to the file, where
        /// nobody sees them before the commit. A transaction that changes objects in the order of their numbers doesn't
        /// become slower, because it changes each page once. Tests use little memory.
        package var writeMemory = 224 << 20
        /// The number of threads that read and sort records.
        package var threads = Threads.available
        /// Whether statistics of cache openings are written to the store's folder.
        package var remembersOpenings = true
        /// Whether snapshots read pages whose checksum is wrong. Their values say themselves which of them are damaged,
        /// so that the check can name them, and an export can skip them.
        package var ignoresPageChecksums = false

        package init() {}
    }

    private struct ModelVersion {
        var version: UInt32
        var model: Model
    }

    package let environment: Environment
    let tables: StoreTables
    /// The store's identifier; nil if it was missing or damaged when the store was opened.
    package let identifier: UUID?
    /// The stores that this one is a copy of, the oldest first.
    private let originals: [NumbersOrigin]
    private let cachedModel = Mutex<ModelVersion?>(nil)
    struct VerifiedEntities {
        var transaction = 0
        var entities: Set<Int> = []
    }

    /// The newest state in which scans have verified all records of some entities, and these entities.
    let verified = Mutex(VerifiedEntities())
    /// The file with statistics of cache openings.
    package let statistics: SideFile
    /// The threads of this store object's open writers.
    private let openWriters = Mutex<[UInt]>([])
    /// The threads on which this store object is building caches.
    let openBuilds = Mutex<[UInt]>([])

    /// Opens a store. If it's missing and the options allow it, creates a store without entities.
    package init(at path: String, options: Options = Options()) throws {
        if options.isReadOnly || !options.creates { try Self.requireFile(at: path) }
        if options.creates, !options.isReadOnly { try Self.requireOwnFolder(at: path) }
        isReadOnly = options.isReadOnly
        ignoresPageChecksums = options.ignoresPageChecksums
        statistics = SideFile(path + "/" + StoreFiles.statistics, isReadOnly: !options.remembersOpenings)
        keptLogBytes = options.keptLogBytes
        writeMemory = options.writeMemory
        threads = min(max(1, options.threads), Threads.most)
        do {
            environment = try Self.openEnvironment(at: path, options)
            tables = try Self.openTables(of: environment, options)
        } catch {
            throw Self.explain(error, at: path)
        }
        if !options.isReadOnly, options.creates {
            do { try Self.createIfEmpty(environment, tables, options) } catch {
                throw Self.explain(error, at: path)
            }
        }
        let transaction = try environment.beginRead(ignoringChecksums: options.ignoresPageChecksums)
        try Self.checkFormat(in: transaction.view, tables, path: environment.path)
        (identifier, originals) = try StoreIdentifier.readUnlessDamaged(in: transaction.view, tables)
    }

    package var path: String { environment.path }

    /// The part that the ids of all objects of an entity share: the store, its originals and the entity.
    package func origin(ofEntity number: Int, named name: String) -> ObjectOrigin {
        let shared = originals.map { ObjectOrigin.Original(store: $0.store, end: $0.ends[number] ?? 1) }
        return ObjectOrigin(store: identifier, shared, entityName: name)
    }

    /// Whether this store object only reads. The process may have opened the environment for writing elsewhere.
    package let isReadOnly: Bool
    let ignoresPageChecksums: Bool
    /// The folder for the temporary files of sorts. A read-only store's own folder may not be writable.
    package var sortingFolder: String { isReadOnly ? TemporaryFile.folder : path }
    package let keptLogBytes: UInt64
    package let writeMemory: Int
    package let threads: Int

    /// Converts an error of opening to a `StoreError`. Returns other errors unchanged.
    static func explain(_ error: any Error, at path: String) -> any Error {
        switch error {
        case DataFileError.foreign(let reason): StoreError.notAStore(path: path, reason)
        case DataFileError.damaged(let reason): StoreError.corrupted(reason)
        case DataFileError.otherVersion: StoreError.otherLMDBVersion(path: path, "\(error)")
        case DataFileError.otherLibrary(let reason): StoreError.inaccessible(path: path, reason)
        case let error as EnvironmentMoved: StoreError.moved(path: error.path)
        case let error as EnvironmentIsReadOnly: StoreError.inaccessible(path: path, "\(error)")
        case let error as TooFewDescriptors: StoreError.inaccessible(path: path, "\(error)")
        case let error as MapFull: StoreError.notSaved(error.reason)
        default: LMDBError(error).map { explain($0, at: path) } ?? error
        }
    }

    static func openEnvironment(at path: String, _ options: Options) throws -> Environment {
        var environmentOptions = Environment.Options()
        environmentOptions.isReadOnly = options.isReadOnly
        environmentOptions.durability = options.durability
        environmentOptions.creates = options.creates
        environmentOptions.mapSize = options.mapSize
        environmentOptions.witness = StoreState.witness
        try DataFile.requirePlainFiles(StoreFiles.beside, inFolder: path)
        let environment = try Environment.open(at: path, options: environmentOptions)
        // A compaction that was killed may have left a file, which is removed.
        if !options.isReadOnly { NewFile.removeLeftover(of: path + "/" + StoreFiles.data) }
        return environment
    }

    /// Opens the tables. If they are missing and the options allow it, creates them in an empty environment; throws
    /// `DataFileError.foreign` if the environment has another program's data. Otherwise throws LMDB's error.
    private static func openTables(of environment: Environment, _ options: Options) throws -> StoreTables {
        func open(creating: Bool) throws -> StoreTables {
            try StoreTables(environment, creating: creating, ignoringChecksums: options.ignoresPageChecksums)
        }
        do {
            return try open(creating: false)
        } catch let error as LMDBError where error == .tableNotFound && options.creates && !options.isReadOnly {
            if try environment.isEmpty() { return try open(creating: true) }
        }
        // Another process may have created the tables after the first attempt.
        do { return try open(creating: false) } catch let error as LMDBError
            where error == .tableNotFound
        {
            throw DataFileError.foreign("its LMDB file has the data of another program")
        }
    }

    private static func explain(_ error: LMDBError, at path: String) -> any Error {
        switch error {
        case .invalidFile: StoreError.notAStore(path: path, "its data.mdb is not an LMDB file")
        case .versionMismatch: StoreError.notAStore(path: path, "its files were written by different versions of LMDB")
        case .tableNotFound: StoreError.notAStore(path: path, "its LMDB file does not have the tables of a store")
        case .wrongChecksum: StoreError.corrupted(error.reason)
        case _ where error.isDamage: StoreError.corrupted("LMDB reports: \(error.reason)")
        case let error where error == .panic || error.isFailedWrite: StoreError(failedWrite: error) ?? error
        // A positive code is an errno, for example for a missing permission, a missing parent folder, or a file instead
        // of the folder. LMDB's own codes are negative.
        case _ where error.rawValue > 0: StoreError.inaccessible(path: path, "\(error)")
        default: StoreError.notAStore(path: path, "\(error)")
        }
    }

    // MARK: Transactions

    /// Throws `StoreError.moved` if the store's path no longer leads to the open files. Costs one to three stats.
    package func requireInPlace() throws {
        do { try environment.requireInPlace() } catch { throw Self.explain(error, at: path) }
    }

    /// Whether a writer of this store object is open. If so, a caller that waited for another writer might wait for
    /// itself.
    package var hasOpenWriter: Bool { openWriters.withLock { !$0.isEmpty } }

    func writerBegan(on thread: UInt) {
        openWriters.withLock { $0.append(thread) }
        environment.writerThreads.withLock { $0.append(thread) }
    }

    func writerEnded(on thread: UInt) {
        func remove(from threads: inout [UInt]) {
            if let index = threads.firstIndex(of: thread) { threads.remove(at: index) }
        }
        openWriters.withLock { remove(from: &$0) }
        environment.writerThreads.withLock { remove(from: &$0) }
    }

    /// Maps the file again if the system allows it, so that its pages no longer count as the process's memory. Does
    /// nothing while a transaction of this process is open.
    package func releasePages() { environment.releasePages() }

    // MARK: Format and model

    /// Writes the format, the model, the state and the identifier to a store without entries. Does nothing if the store
    /// has a format version already.
    private static func createIfEmpty(
        _ environment: Environment, _ tables: StoreTables, _ options: Options
    ) throws {
        let key = StoreLayout.formatKey
        do {
            let transaction = try environment.beginRead(ignoringChecksums: options.ignoresPageChecksums)
            if try transaction.view.get(key, in: tables.meta, { _ in }) { return }
        }
        if options.durability != .none { try environment.syncNames() }
        let transaction = try environment.beginWrite()
        if try transaction.view.get(key, in: tables.meta, { _ in }) { return }
        for table in [tables.meta, tables.records, tables.log, tables.unique, tables.caches, tables.nodes]
        where try transaction.view.statistics(of: table).entries > 0 {
            throw StoreError.corrupted("it has contents, but no format version")
        }
        let entries = [
            (StoreLayout.formatKey, StoreLayout.encodedVersion), (StoreLayout.modelKey, Model(entities: []).encoded),
            (StoreLayout.stateKey, StoreState().encoded(writtenBy: transaction.view)),
            (StoreLayout.identifierKey, StoreIdentifier.encoded(UUID())),
        ]
        for (key, value) in entries {
            try transaction.view.put(value, for: key, in: tables.meta)
        }
        try transaction.commit()
    }

    /// Throws unless this program can read the format of the store.
    static func checkFormat(in view: TransactionView, _ tables: StoreTables, path: String) throws {
        guard let version = try formatVersion(in: view, tables) else {
            throw StoreError.notAStore(path: path, "it has no format version")
        }
        guard version <= StoreLayout.version else {
            throw StoreError.newerFormat(found: Int(version), supported: Int(StoreLayout.version))
        }
        guard version >= StoreLayout.oldestVersion else {
            throw StoreError.olderFormat(found: Int(version), supported: Int(StoreLayout.version))
        }
    }

    static func formatVersion(in view: TransactionView, _ tables: StoreTables) throws -> UInt32? {
        var version: UInt32?
        _ = try view.get(StoreLayout.formatKey, in: tables.meta) { value in
            var reader = try ByteReader(checked: value, "the format version")
            version = try reader.uint32()
        }
        return version
    }

    /// The model in a transaction's state. Cached until its version changes, so that it isn't decoded each time.
    func model(version: UInt32, in view: TransactionView) throws -> Model {
        try cachedModel.withLock { cached in
            if let cached, cached.version == version { return cached.model }
            var stored: Model?
            do {
                _ = try view.get(StoreLayout.modelKey, in: tables.meta) { stored = try Model(decoding: $0) }
            } catch let error as ModelError { throw StoreError(error) }
            guard let stored else { throw StoreError.corrupted("the model is missing") }
            let model = stored.prepared
            cached = ModelVersion(version: version, model: model)
            return model
        }
    }
}

extension Model {
    /// The stored model with the data that is derived from it: the values that older records lack, owners of unique
    /// keys, links and derivations.
    var prepared: Model { withMissingValues().withKeyOwners().withLinks().withDerivations() }
}

/// Identifies the calling thread.
func currentThread() -> UInt {
    #if canImport(Glibc)
        UInt(pthread_self())
    #else
        UInt(bitPattern: pthread_self())
    #endif
}
