internal import FetchIndexOrderCaches
internal import FetchIndexRecords
internal import FetchIndexModels
internal import FetchIndexValues

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
        /// The number of objects of the entity itself; objects of subentities are not counted.
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
        /// The version of the data; nil if they don't name one.
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
    /// The followed source; nil if the store follows none.
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
