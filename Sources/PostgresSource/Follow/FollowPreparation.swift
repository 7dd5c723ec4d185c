internal import FetchIndex
internal import FetchIndexCLibrary
internal import FetchIndexEssentials
internal import FetchIndexModels

/// Prepares a follower: opens an existing store, and checks the options and the source's settings. If the store follows
/// nothing yet, also checks the tables, and adds their entities to the store, which is created if it's missing. Leaves
/// nothing in the source. If it refuses an option, the source or a table, it creates no store.
struct FollowPreparation {
    let container: PersistentContainer
    let source: FollowedSource
    let connection: Connection

    private static let oldestServer = 130_000
    /// The first server version whose publications can select columns and rows of a table.
    static let firstWithFilters = 150_000

    init(
        storeAt path: String, _ options: FollowOptions, _ isInterrupted: () -> Bool, _ report: (FollowEvent) -> Void
    ) throws {
        if let address = options.address { try SourceAddress.check(address) }
        if let slot = options.slot, !Self.isSlotName(slot) {
            throw SourceError(
                .usage, "\(slot) is not a valid name of a slot: names have 1 to 63 characters of a to z, 0 to 9 and _")
        }
        let opened = try Self.opened(path)
        try Self.requireEntities(of: options, in: opened)
        for name in options.caches {
            guard let opened else { throw StoreError.unknownCache(name) }
            if try opened.pinnedState().request(ofCache: name) == nil { throw try opened.unknownCache(name) }
        }
        if let opened, let stored = try opened.followedSource(as: FollowedSource.self),
            try !Self.isAbandoned(stored, opened, options, report)
        {
            try self.init(continuing: stored, in: opened, options, isInterrupted, report)
        } else {
            self = try Self.start(at: path, options, isInterrupted, report)
        }
        report(.connected(source.address))
        if source.way == .stream, (try? connection.value("SHOW max_slot_wal_keep_size")) == "-1" {
            report(
                .warning(
                    "max_slot_wal_keep_size is not set on the source: its log can grow without limit while no follower runs"
                )
            )
        }
    }

    /// Connects to the source that a store already follows. If it can't be reached, waits for it and tries again,
    /// unless `endsWhenCurrent` is set: a job that only catches up should fail instead.
    private init(
        continuing stored: FollowedSource, in container: PersistentContainer, _ options: FollowOptions,
        _ isInterrupted: () -> Bool, _ report: (FollowEvent) -> Void
    ) throws {
        var stored = stored
        if let address = options.address, address != stored.address {
            guard options.moves else {
                throw SourceError(.usage, "the store follows \(stored.address)", remedy: .move)
            }
            stored.address = address
        }
        try Self.require(options, of: stored)
        var recovery = Recovery(copiesAgain: options.recopies)
        if options.endsWhenCurrent {
            connection = try Connection(stored.address)
            try Self.checkServer(
                connection, stored.address, stored.way, is: options.recopies ? nil : stored.systemIdentifier)
        } else {
            connection = try recovery.connect(to: stored, isInterrupted) { error, recovery in
                report(recovery.warning(of: error))
                let time = Date().timeIntervalSince1970
                container.setSourceStatus(
                    SourceStatus(
                        time: time, process: Int(getpid()), state: .disconnected, reason: error.description))
            }
        }
        (self.container, source) = (container, stored)
    }

    /// Prepares a store that follows nothing yet, or whose first attempt was abandoned. If the connection is lost, or a
    /// table is locked, waits and tries again, unless `endsWhenCurrent` is set. An address that can't be connected to at
    /// first may be wrong, so that isn't tried again.
    private static func start(
        at path: String, _ options: FollowOptions, _ isInterrupted: () -> Bool, _ report: (FollowEvent) -> Void
    ) throws -> FollowPreparation {
        guard let address = options.address, !options.tables.isEmpty else {
            throw SourceError(.usage, "the store follows nothing yet", remedy: .nameSource)
        }
        if let name = options.droppedTables.first {
            throw SourceError(.usage, "the store follows nothing yet, also not \(name)")
        }
        var connection = try Connection(address)
        var recovery = Recovery(copiesAgain: false)
        while true {
            do { return try FollowPreparation(startingAt: path, address, connection, options, report) } catch let error
                as SourceError where error.kind == .connection && !options.endsWhenCurrent
            {
                report(recovery.warning(of: error))
                try recovery.wait(isInterrupted)
                connection = try recovery.connect(to: address, isInterrupted) { report($1.warning(of: $0)) }
            }
        }
    }

    /// Checks the source and its tables, then opens the store, or creates it, and adds the tables' entities. The
    /// follower's first commit stores which tables the store follows.
    private init(
        startingAt path: String, _ address: String, _ connection: Connection, _ options: FollowOptions,
        _ report: (FollowEvent) -> Void
    ) throws {
        let way = options.usesChangeTable ? FollowedSource.Way.changeTable : .stream
        let system = try Self.checkServer(connection, address, way, is: nil)
        let tables = try SourceTable.read(options.tables, connection, way)
        if way == .stream {
            try Self.requireFilters(tables, connection)
            if Set(tables.map(\.number)).count < tables.count {
                throw SourceError(
                    .usage,
                    "a table is named twice; when following the source's log, a table can become only one entity")
            }
        } else {
            try Self.requireLasting(tables, connection, report)
        }
        let (followed, entities) = try SourceTable.followed(tables)
        let makesPublication = way == .stream && options.publication == nil
        try SourceRights(connection).require(tables, makesPublication: makesPublication)
        let container = try Self.open(path, entities)
        let identifier = container.storeIdentifier.map { $0.uuidString.filter { $0 != "-" }.prefix(12).lowercased() }
        let name = "fetchindex_\(identifier ?? "store")"
        source = FollowedSource(
            way, address: address, systemIdentifier: system, slot: options.slot ?? name,
            publication: options.publication ?? name, ownsSlot: options.slot == nil,
            ownsPublication: options.publication == nil, tables: followed)
        (self.container, self.connection) = (container, connection)
    }

    private static func isSlotName(_ name: String) -> Bool {
        let allowed = "abcdefghijklmnopqrstuvwxyz0123456789_"
        return !name.isEmpty && name.utf8.count <= 63 && name.allSatisfy { allowed.contains($0) }
    }

    /// Opens a store; returns nil if it doesn't exist yet.
    private static func opened(_ path: String) throws -> PersistentContainer? {
        do { return try PersistentContainer(storeAt: path) } catch {
            switch error {
            // If a process was killed while it created the store, the store doesn't exist yet. A folder with other
            // files is refused later, when a store is created in it.
            case StoreError.missing, StoreError.notAStore: return nil
            default: throw error
            }
        }
    }

    // MARK: The server

    /// Checks the server's version and settings and, unless `identifier` is nil, that the server or its change table
    /// has this identifier. Returns the identifier that was found.
    @discardableResult
    static func checkServer(
        _ connection: Connection, _ address: String, _ way: FollowedSource.Way, is identifier: String?
    ) throws -> String {
        guard connection.serverVersion >= oldestServer else {
            let version = connection.serverVersion / 10_000
            throw SourceError(
                .refused, "the source is PostgreSQL \(version); 13 is the oldest version that can be followed")
        }
        if identifier == nil, way == .stream, try connection.value("SELECT pg_catalog.pg_is_in_recovery()") == "t" {
            throw SourceError(
                .refused,
                "the source is a standby, in which no publication can be made: follow the primary server")
        }
        let found = try way == .stream ? streamIdentifier(connection, address) : ChangeTable.identifier(connection)
        if let identifier, identifier != found {
            let what = way == .stream ? "is another server" : "has another change table"
            throw SourceError(
                .refused, "\(address) \(what) than the one that the store follows", remedy: .copyAgainOrEnd)
        }
        return found
    }

    /// The SQLSTATE codes with which a server that accepts other connections refuses replication: the role lacks the
    /// right, pg_hba.conf doesn't allow it, or a connection pooler doesn't support it.
    private static let replicationRefusals = ["42501", "28000", "08P01"]

    private static func streamIdentifier(_ connection: Connection, _ address: String) throws -> String {
        let level = try connection.value("SHOW wal_level") ?? ""
        guard level == "logical" else {
            throw SourceError(
                .refused,
                "the source's log has too little detail (wal_level is \(level)): ALTER SYSTEM SET wal_level = logical, then restart the server"
            )
        }
        do {
            return try Connection(address, isReplication: true).value("IDENTIFY_SYSTEM") ?? ""
        } catch let error as SourceError where replicationRefusals.contains(error.code ?? "") {
            throw SourceError(
                .refused,
                "\(error); ALTER ROLE … REPLICATION gives the right to replicate, and pg_hba.conf must allow it",
                code: error.code)
        }
    }

    // MARK: The store

    /// Opens the store, or creates it, and adds the tables' entities, which must be empty.
    private static func open(_ path: String, _ entities: [Entity]) throws -> PersistentContainer {
        guard Set(entities.map(\.name)).count == entities.count else {
            throw SourceError(.usage, "two tables cannot become one entity", remedy: .chooseEntity(orDrop: nil))
        }
        let container = try PersistentContainer(storeAt: path, model: Model(entities: entities), creates: true)
        for entity in entities { try requireEmpty(entity.name, in: container) }
        return container
    }

    /// Throws `SourceError` if an entity has objects.
    static func requireEmpty(_ name: String, in container: PersistentContainer) throws {
        let count = try container.count(ofEntity: name)
        if count == 0 { return }
        throw SourceError(
            .refused,
            "the store has objects of \(name) already (\(count)), but tables are followed into new or empty entities",
            remedy: .chooseEntity(orDrop: name))
    }
}
