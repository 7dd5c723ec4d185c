internal import FetchIndexOrderCaches
internal import FetchIndexRecords
internal import FetchIndexModels
internal import FetchIndexValues

/// What `info` tells of a store.
package struct StoreInformation: Encodable {
    package struct Attribute: Encodable {
        package let name: String
        package let type: String
        package let isOptional: Bool
        package let isUnique: Bool
    }

    package struct Relationship: Encodable {
        package let name: String
        package let destination: String
        @NullWhenMissing package private(set) var inverse: String?
        package let isToMany: Bool
        package let isOptional: Bool
        package let isOrdered: Bool
        package let deleteRule: String
        /// The number of links of a many-to-many relationship.
        @NullWhenMissing package private(set) var links: Int?
    }

    package struct Entity: Encodable {
        package let name: String
        package let count: Int
        package let attributes: [Attribute]
        package let relationships: [Relationship]
    }

    package struct Table: Encodable {
        package let name: String
        package let bytes: Int
    }

    package struct Log: Encodable {
        /// The log holds the changes after this commit.
        package let start: UInt64
        package let bytes: Int
        package let limit: Int
    }

    /// The time zone data of this machine, on which sections of dates depend.
    package struct TimeZones: Encodable {
        /// Nil when the data do not say.
        @NullWhenMissing package private(set) var version: String?
        /// system or ICU: whichever is newer.
        package let source: String
        @NullWhenMissing package private(set) var systemVersion: String?
        @NullWhenMissing package private(set) var icuVersion: String?
    }

    package struct Reader: Encodable {
        package let process: Int
        /// The name of the process's program; nil where the system does not tell.
        @NullWhenMissing package private(set) var program: String?
        /// Transactions since the one that it sees.
        package let age: Int
        /// Seconds since the first commit that it does not see; nil when the log does not tell.
        @NullWhenMissing package private(set) var seconds: Double?
        /// Whether it is older than `seconds`.
        package let isOlder: Bool
        /// Pages that could be used again, were it not for this reader.
        package let pinnedPages: Int
        package let pinnedBytes: Int
    }

    /// The database that the store follows.
    package struct Source: Encodable {
        package struct Table: Encodable {
            package let name: String
            package let entity: String
            package let key: String
            @NullWhenMissing package private(set) var condition: String?
            package let isCopied: Bool
        }

        package let address: String
        /// The replication slot; nil where changes are read from a change table.
        @NullWhenMissing package private(set) var slot: String?
        package let tables: [Table]
        /// Up to where the store has followed it; nil before the first copy.
        @NullWhenMissing package private(set) var position: String?
        /// Whether the store equals the source at the position.
        package let isConsistent: Bool
        /// Seconds since 1970 of the last transaction of the source that is here; nil before the first.
        @NullWhenMissing package private(set) var committed: Double?
        /// The last report of the process that follows: copying, streaming, disconnected, stopped; nil: none.
        @NullWhenMissing package private(set) var state: String?
        /// Whether that process runs now.
        package let isRunning: Bool
        @NullWhenMissing package private(set) var process: Int?
        /// Seconds since the report.
        @NullWhenMissing package private(set) var age: Double?
        @NullWhenMissing package private(set) var lagBytes: Int?
        @NullWhenMissing package private(set) var lagSeconds: Double?
        @NullWhenMissing package private(set) var slotState: String?
        /// Bytes of the source's log that are retained for the slot.
        @NullWhenMissing package private(set) var retainedBytes: Int?
        @NullWhenMissing package private(set) var reason: String?
    }

    package let path: String
    package let format: Int
    package let commit: UInt64
    package let fileBytes: Int
    package let freeBytes: Int
    package let tables: [Table]
    package let entities: [Entity]
    package let log: Log
    package let timeZones: TimeZones
    package let caches: [String]
    @NullWhenMissing package private(set) var source: Source?
    package let readers: [Reader]
}

extension PersistentContainer {
    package func information() throws -> StoreInformation {
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

    /// Every defect of the store at a path, one sentence each. Checks the pages of its file and, when they are intact, their
    /// contents. The container is opened only then: LMDB must not read a damaged page. O(n log n).
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

    /// Everything that is wrong with the values of the store and its caches, one sentence each. O(n log n).
    package func check(progress: @escaping (_ done: Int, _ total: Int) -> Void) throws -> [String] {
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

    /// Everything that is wrong with a cache in the newest state, one sentence each. Its request is read from the cache. Throws
    /// `StoreError.unknownCache`, and `StoreError.corrupted` when the records cannot be read to compare.
    package func verifyCache(
        _ name: String, sharedNumbers shared: Set<UInt32>? = nil,
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
