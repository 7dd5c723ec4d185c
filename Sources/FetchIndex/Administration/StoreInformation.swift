internal import FetchIndexOrderCaches
internal import FetchIndexRecords
internal import FetchIndexModels
internal import FetchIndexValues

/// The properties of a store: its model with counts, its file, its readers and its log. `fetchindex info --output json`
/// prints this as JSON.
public struct StoreInformation: Sendable {
    public struct Attribute: Encodable, Sendable {
        public let name: String
        /// The name of the type, for example `integer`.
        public let type: String
        public let isOptional: Bool
        public let isUnique: Bool
    }

    public struct Relationship: Sendable {
        public let name: String
        /// The entity of the related objects.
        public let destination: String
        public let inverse: String?
        public let isToMany: Bool
        public let isOptional: Bool
        public let isOrdered: Bool
        public let deleteRule: String
        /// The number of links of a many-to-many relationship; nil for other relationships.
        public let links: Int?
    }

    public struct Entity: Encodable, Sendable {
        public let name: String
        /// The number of objects of the entity itself; objects of subentities are not counted.
        public let count: Int
        public let attributes: [Attribute]
        public let relationships: [Relationship]
    }

    /// A table of LMDB in the store's file.
    public struct Table: Encodable, Sendable {
        public let name: String
        /// The bytes of the table's pages.
        public let bytes: Int
    }

    public struct Log: Encodable, Sendable {
        /// The number of a commit. The log has the changes of all commits after it.
        public let start: UInt64
        public let bytes: Int
        /// The maximum number of bytes of the log.
        public let limit: Int
    }

    /// The time zone data that this process uses. Sections of dates depend on them.
    public struct TimeZones: Sendable {
        /// The version of the data in use; nil if the data don't contain a version.
        public let version: String?
        /// The origin of the data in use: `system` if the system's data are newer than ICU's, otherwise `ICU`.
        public let source: String
        public let systemVersion: String?
        public let icuVersion: String?
    }

    /// A read transaction of a process. A process may have several.
    public struct Reader: Sendable {
        public let process: Int
        /// The name of the program that the process runs; nil if the system doesn't provide it.
        public let program: String?
        /// The number of LMDB transactions since the state that the process reads, including transactions that only
        /// write caches.
        public let age: Int
        /// The seconds since the oldest commit in the log that the process doesn't see; 0 if it sees the newest commit.
        /// Nil if this is unknown, because the log is empty or damaged.
        public let seconds: Double?
        /// Whether the log may lack older commits that the process doesn't see either, so that the state may be older
        /// than `seconds`.
        public let isOlder: Bool
        /// The number of free pages that writers can't reuse while the process reads this state.
        public let pinnedPages: Int
        public let pinnedBytes: Int
    }

    /// A source database that the store follows.
    public struct Source: Sendable {
        public struct Table: Sendable {
            public let name: String
            public let entity: String
            /// The columns whose values together identify rows, separated by commas.
            public let key: String
            /// The attribute that contains the source's name, in an entity that several sources fill; otherwise nil.
            public let shard: String?
            /// The condition that selects the followed rows; nil if all are followed.
            public let condition: String?
            public let isCopied: Bool
            /// Why rows are left out of the store, a sentence for each: they have values that cannot be stored.
            public let omittedRows: [String]
        }

        /// The name that the user gave to the source; otherwise `main`.
        public let name: String
        public let address: String
        /// The replication slot; nil if the store reads a change table.
        public let slot: String?
        public let tables: [Table]
        /// The position in the source up to which the store has the source's changes; nil before the first copy.
        public let position: String?
        /// Whether the followed tables are copied, and consistent with each other at `position`. It's false during the
        /// first copy.
        public let isConsistent: Bool
        /// The commit time of the last source transaction in the store, in seconds since 1970; nil before the first
        /// one.
        public let committed: Double?
        /// The state in the follower's last report: copying, streaming, disconnected or stopped; nil without a report.
        public let state: String?
        /// Whether the follower, the process that follows the source, is running.
        public let isRunning: Bool
        public let process: Int?
        /// The seconds since the follower's last report; nil without a report.
        public let age: Double?
        /// The number of bytes in the source's log that the store hasn't received; nil if unknown, for example without a
        /// recent report.
        public let lagBytes: Int?
        /// The delay of the store in seconds; nil if unknown, for example without a recent report.
        public let lagSeconds: Double?
        /// The seconds since the source was last heard from; nil if unknown.
        public let silence: Double?
        /// The greatest delay in seconds that the store can have now, by the last report: the source may have changed
        /// since it was last heard from. Nil if unknown, and while the store isn't consistent.
        public let greatestLagSeconds: Double?
        /// The slot's state in PostgreSQL's words (`wal_status`), for example `reserved`; nil if unknown.
        public let slotState: String?
        /// The size of the source's log that the source keeps for the slot, in bytes; nil if unknown.
        public let retainedBytes: Int?
        /// The reason for the follower's state, if any.
        public let reason: String?
    }

    public struct LMDB: Encodable, Sendable {
        /// The data version of the file: 1 or 3.
        public let fileVersion: Int
        /// The releases of LMDB that read and write this version: "LMDB 0.9" or "LMDB 1.0".
        public let release: String
        /// Whether the file's pages have checksums. LMDB 1.0 can write them, LMDB 0.9 can't.
        public let hasPageChecksums: Bool
        /// The version of the LMDB that this program uses, such as "0.9.24".
        public let library: String
    }

    /// The store's folder.
    public let path: String
    /// The version of the store's format.
    public let format: Int
    /// The layout of the file's pages, which LMDB 0.9 and 1.0 don't share.
    public let lmdb: LMDB
    /// The number of the newest commit.
    public let commit: UInt64
    public let fileBytes: Int
    /// The bytes of unused pages in the file.
    public let freeBytes: Int
    public let tables: [Table]
    public let entities: [Entity]
    public let log: Log
    /// The bookmarks, by name.
    public let bookmarks: [Bookmark]
    public let timeZones: TimeZones
    /// The names of the caches, including the caches of indexes.
    public let caches: [String]
    /// The followed sources, by name.
    public let sources: [Source]
    public let readers: [Reader]
}

extension PersistentContainer {
    /// The properties of the store in its newest state. Throws `StoreError`.
    public func information() throws -> StoreInformation {
        try withPublicErrors {
            // The readers are listed before this function's own snapshot becomes a reader.
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
                path: store.path, format: try snapshot.formatVersion(),
                lmdb: StoreInformation.LMDB(
                    fileVersion: environment.layoutVersion, release: environment.layoutRelease,
                    hasPageChecksums: environment.hasPageChecksums, library: environment.libraryVersion),
                commit: state.commit,
                fileBytes: environment.fileBytes, freeBytes: environment.freeBytes,
                tables: try store.tableBytes(in: snapshot).map {
                    StoreInformation.Table(name: $0.name, bytes: $0.bytes)
                },
                entities: entities,
                log: StoreInformation.Log(
                    start: state.logStart, bytes: Int(clamping: state.logBytes),
                    limit: Int(clamping: try snapshot.logLimit())),
                // `check` reports a damaged list.
                bookmarks: (try? Bookmark.all(in: snapshot)) ?? [],
                timeZones: try StoreInformation.TimeZones(.ofProcess), caches: try CacheDirectory.names(in: snapshot),
                sources: try sources(in: snapshot),
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
