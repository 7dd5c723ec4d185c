internal import FetchIndexOrderCaches
internal import FetchIndexRecords
internal import FetchIndexModels
internal import FetchIndexValues
#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// What is known of a store in one state: its model with counts, its file, its readers, its log. `fetchindex info --output json` prints it
/// as JSON.
public struct StoreInformation: Sendable {
    public struct Attribute: Encodable, Sendable {
        public let name: String
        /// The type's name, as `integer`.
        public let type: String
        public let isOptional: Bool
        public let isUnique: Bool
    }

    public struct Relationship: Sendable {
        public let name: String
        /// The entity that it leads to.
        public let destination: String
        public let inverse: String?
        public let isToMany: Bool
        public let isOptional: Bool
        public let isOrdered: Bool
        public let deleteRule: String
        /// The number of links of a many-to-many relationship; nil for others.
        public let links: Int?
    }

    public struct Entity: Encodable, Sendable {
        public let name: String
        /// Objects of the entity, without those of subentities.
        public let count: Int
        public let attributes: [Attribute]
        public let relationships: [Relationship]
    }

    /// A table of the store's file.
    public struct Table: Encodable, Sendable {
        public let name: String
        /// The bytes of its pages.
        public let bytes: Int
    }

    public struct Log: Encodable, Sendable {
        /// The log holds the changes after this commit.
        public let start: UInt64
        public let bytes: Int
        /// The most bytes that it may have.
        public let limit: Int
    }

    /// The time zone data of this machine, on which sections of dates depend.
    public struct TimeZones: Sendable {
        /// Nil when the data do not say.
        public let version: String?
        /// system or ICU: whichever is newer.
        public let source: String
        public let systemVersion: String?
        public let icuVersion: String?
    }

    /// A process that reads the store now.
    public struct Reader: Sendable {
        public let process: Int
        /// The name of the process's program; nil where the system does not tell.
        public let program: String?
        /// Transactions since the one that it sees.
        public let age: Int
        /// Seconds since the first commit that it does not see; nil when the log does not tell.
        public let seconds: Double?
        /// Whether it is older than `seconds`.
        public let isOlder: Bool
        /// Pages that could be used again, were it not for this reader.
        public let pinnedPages: Int
        public let pinnedBytes: Int
    }

    /// The database that the store follows.
    public struct Source: Sendable {
        public struct Table: Sendable {
            public let name: String
            public let entity: String
            /// The column whose values name rows.
            public let key: String
            /// Only rows that it holds for are followed; nil: all.
            public let condition: String?
            public let isCopied: Bool
        }

        public let address: String
        /// The replication slot; nil where changes are read from a change table.
        public let slot: String?
        public let tables: [Table]
        /// Up to where the store has followed it; nil before the first copy.
        public let position: String?
        /// Whether the store equals the source at the position.
        public let isConsistent: Bool
        /// Seconds since 1970 of the last transaction of the source that is here; nil before the first.
        public let committed: Double?
        /// The last report of the process that follows: copying, streaming, disconnected, stopped; nil without a report.
        public let state: String?
        /// Whether that process runs now.
        public let isRunning: Bool
        public let process: Int?
        /// Seconds since the report.
        public let age: Double?
        /// Bytes of the source's log, and seconds, that the store is behind; nil where they are not known.
        public let lagBytes: Int?
        public let lagSeconds: Double?
        /// What the source says of the slot.
        public let slotState: String?
        /// Bytes of the source's log that are retained for the slot.
        public let retainedBytes: Int?
        /// Why the process is in its state.
        public let reason: String?
    }

    /// The store's folder.
    public let path: String
    /// The version of the file's format.
    public let format: Int
    /// The newest commit.
    public let commit: UInt64
    public let fileBytes: Int
    /// Bytes of the file's pages that hold nothing now.
    public let freeBytes: Int
    public let tables: [Table]
    public let entities: [Entity]
    public let log: Log
    public let timeZones: TimeZones
    /// The names of the caches, and of the orders of indexes.
    public let caches: [String]
    /// Nil for a store that follows nothing.
    public let source: Source?
    public let readers: [Reader]
}

extension PersistentContainer {
    /// What is known of the newest state. O(entities + tables + caches), and O(commits) for readers of old states. Throws `StoreError`.
    public func information() throws -> StoreInformation {
        try withPublicErrors {
            // Its readers are listed before the snapshot, which is one too.
            let environment = try store.environmentInformation()
            let snapshot = try store.snapshot()
            let shown = snapshot.model.entities.enumerated().filter { !$1.isDropped && !$1.isJoin }
            let entities = try shown.map { number, entity in
                StoreInformation.Entity(
                    name: entity.name, count: Int(clamping: try snapshot.entityState(number).count),
                    attributes: entity.attributes.map {
                        StoreInformation.Attribute(
                            name: $0.name, type: $0.type.name, isOptional: $0.isOptional, isUnique: $0.isUnique)
                    }, relationships: try entity.storedRelationships.compactMap { try relationship($0, in: snapshot) })
            }
            let state = snapshot.state
            return StoreInformation(
                path: store.path, format: try snapshot.formatVersion(), commit: state.commit,
                fileBytes: environment.fileBytes, freeBytes: environment.freeBytes,
                tables: try store.tableBytes(in: snapshot).map {
                    StoreInformation.Table(name: $0.name, bytes: $0.bytes)
                },
                entities: entities,
                log: StoreInformation.Log(
                    start: state.logStart, bytes: Int(clamping: state.logBytes), limit: Int(clamping: state.logLimit)),
                timeZones: try StoreInformation.TimeZones(.ofProcess), caches: try CacheDirectory.names(in: snapshot),
                source: try source(in: snapshot),
                readers: environment.readers.map(StoreInformation.Reader.init))
        }
    }

    private func relationship(
        _ stored: StoredRelationship, in snapshot: Snapshot
    ) throws -> StoreInformation.Relationship? {
        if stored.isRemoved { return nil }
        var links: Int?
        if case .join(let entity, _) = stored.storage { links = Int(clamping: try snapshot.entityState(entity).count) }
        let relationship = stored.description
        return StoreInformation.Relationship(
            name: relationship.name, destination: relationship.destination, inverse: relationship.inverse,
            isToMany: relationship.isToMany, isOptional: relationship.isOptional, isOrdered: relationship.isOrdered,
            deleteRule: "\(relationship.deleteRule)", links: links)
    }

    /// Every defect of a store, one sentence each; an intact store has none. Checks the pages of its file and, when they are intact, opens the
    /// store, for reading only, and checks its values and caches: LMDB must not read a damaged page. `progress` is called from time to
    /// time with the number of records that were read, and of all. O(n log n). Throws `StoreError` when the store cannot be opened.
    public static func check(
        at url: URL, progress: @escaping (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> [String] {
        try check(
            at: url.storePath(),
            opening: {
                try PersistentContainer(storeAt: url.storePath(), isReadOnly: true, remembersOpenings: false)
            }, progress: progress)
    }

    /// The same, with another way to open the store.
    package static func check(
        at path: String, opening open: () throws -> PersistentContainer,
        progress: @escaping (_ done: Int, _ total: Int) -> Void
    ) throws -> [String] {
        try withPublicErrors {
            let defects = try Store.checkPages(at: path)
            guard defects.isEmpty else {
                return defects + ["what the pages hold was not checked, because pages are damaged"]
            }
            return try open().check(progress: progress)
        }
    }

    /// Everything that is wrong with the values of the store and its caches, one sentence each; an intact store has none. ``check(at:progress:)``
    /// looks at the pages of the file too. `progress` is called from time to time with the number of records that were read, and of all.
    /// O(n log n). Throws `StoreError` when the model cannot be read.
    public func check(progress: @escaping (_ done: Int, _ total: Int) -> Void = { _, _ in }) throws -> [String] {
        try withPublicErrors {
            let snapshot = try store.snapshot()
            let total = try recordCount()
            var defects = try snapshot.check { progress($0, total) }
            let names = try CacheDirectory.names(in: snapshot)
            if try CacheDirectory.count(in: snapshot) != names.count { defects.append("a cache's name is not UTF-8") }
            for index in try snapshot.model.indexOrders() {
                if !names.contains(index.name) {
                    defects.append("the order of the index \"\(index.name)\" is missing")
                } else if try !cacheEngine.assess(index, in: snapshot).isCurrent {
                    defects.append("the order of the index \"\(index.name)\" is not current")
                }
            }
            defects += CacheDirectory.listDefects(in: snapshot)
            let shared = try CacheDirectory.sharedNumbers(in: snapshot)
            for name in names {
                let cache = "cache \"\(name)\": "
                do {
                    defects += try verifyCache(name, sharedNumbers: shared, progress: progress).map { cache + $0 }
                    let damaged = try caches.history(of: name, in: snapshot).defects
                    if damaged > 0 {
                        defects.append("\(cache)\(damaged) of the entries of its history are damaged")
                    }
                } catch StoreError.unknownCache {
                    continue  // Deleted meanwhile.
                } catch let error as StoreError {
                    guard case .corrupted = error else { throw error }
                    defects.append("\(cache)it cannot be compared with the records: \(error)")
                }
            }
            return defects
                + (try CacheDirectory.strayCaches(in: snapshot).map { "nodes of number \($0) belong to no cache" })
        }
    }

    /// The objects of an entity. Throws when the store has no such entity.
    package func count(ofEntity name: String) throws -> Int {
        try withPublicErrors {
            let snapshot = try store.snapshot()
            return Int(clamping: try snapshot.entityState(snapshot.model.number(of: name)).count)
        }
    }

    /// Records of all entities, as far as their counters can be read.
    package func recordCount() throws -> Int {
        try withPublicErrors {
            let snapshot = try store.snapshot()
            return snapshot.model.entities.indices.reduce(0) {
                $0 + Int(clamping: (try? snapshot.entityState($1).count) ?? 0)
            }
        }
    }

    /// Everything that is wrong with a cache in the newest state, one sentence each; a sound cache has none. Its order is computed anew, in
    /// memory, and compared. `progress` is called from time to time with the number of records that were read, and of all. O(n log n).
    /// Throws `StoreError`: `unknownCache` for a name that no cache has, `corrupted` when the records cannot be read to compare.
    public func verifyCache(
        _ name: String, progress: @escaping (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> [String] {
        try verifyCache(name, sharedNumbers: nil, progress: progress)
    }

    /// The same. `shared` are numbers that several caches have; nil: they are looked for.
    func verifyCache(
        _ name: String, sharedNumbers shared: Set<UInt32>?,
        progress: @escaping (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> [String] {
        try withPublicErrors {
            let snapshot = try store.snapshot()
            do {
                let header = try CacheDirectory.existingHeader(name, in: snapshot)
                return try verify(header, in: snapshot, sharedNumbers: shared, progress: progress)
            } catch let error as UnusableHeader {
                return error.defects
            }
        }
    }

    /// As above, of a cache that has a header, in the state of a reader.
    func verify(
        _ header: CacheHeader, in reader: StoreReader, sharedNumbers shared: Set<UInt32>? = nil,
        progress: @escaping (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> [String] {
        try withPublicErrors {
            // Its attributes were removed or converted: the next fetch rebuilds it.
            guard header.identity.canBeRead(from: reader.model) else { return [] }
            var options = OrderOptions(cacheName: header.name)
            options.progress = progress
            do {
                let request = try compile(try OrderDefinition(header.identity, in: reader.model), options)
                // A changed model or ICU version makes a cache stale, not defective.
                return request.identity == header.identity
                    ? try cacheEngine.verify(header, request, in: reader, sharedNumbers: shared) : []
            } catch is RequestError, is UnknownTimeZone, is UnusableTimeZone, is UnusableCalendar, is UnknownLocale {
                // A computed section key: only its program can make the rows again. Or this machine lacks data of its own.
                return try cacheEngine.verify(header, nil, in: reader, sharedNumbers: shared)
            } catch is ModelError {
                return []
            } catch let error as FetchPredicateError {
                return ["its request cannot be read: \(error)"]
            } catch let error as StoreError {
                guard case .corrupted = error else { return [] }
                throw error
            }
        }
    }
}

extension StoreInformation.TimeZones {
    init(_ folder: ZoneFolder) throws {
        let system = try folder.version()?.description
        let icu = ZoneFolder.versionOfICU?.description
        let isSystem = try folder.isNewerThanICU()
        self.init(
            version: isSystem ? system : icu, source: isSystem ? "system" : "ICU", systemVersion: system,
            icuVersion: icu)
    }
}

extension StoreInformation.Reader {
    init(_ reader: ReaderInformation) {
        self.init(
            process: reader.process, program: programName(ofProcess: reader.process), age: reader.transactions,
            seconds: reader.seconds, isOlder: reader.isOlder, pinnedPages: reader.pinnedPages,
            pinnedBytes: reader.pinnedBytes)
    }
}
