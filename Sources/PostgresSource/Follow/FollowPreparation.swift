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
        let name = try Self.name(options.name, in: opened)
        try Self.requireEntities(of: options, named: name, in: opened)
        for name in options.caches {
            guard let opened else { throw CacheError.unknown(name) }
            if try opened.pinnedState().request(ofCache: name) == nil { throw try opened.unknownCache(name) }
        }
        if let opened, let stored = try opened.followedSource(named: name, as: FollowedSource.self),
            try !Self.isAbandoned(stored, opened, options, report)
        {
            try self.init(continuing: stored, in: opened, options, isInterrupted, report)
        } else {
            self = try Self.start(at: path, name, opened, options, isInterrupted, report)
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
                        time: time, process: Int(getpid()), state: .disconnected, reason: error.description),
                    named: stored.name)
            }
        }
        (self.container, source) = (container, stored)
    }

    /// Prepares to follow a source that the store doesn't follow yet, or whose first attempt was abandoned. If the connection is lost, or a
    /// table is locked, waits and tries again, unless `endsWhenCurrent` is set. An address that can't be connected to at
    /// first may be wrong, so that isn't tried again.
    private static func start(
        at path: String, _ name: String, _ opened: PersistentContainer?, _ options: FollowOptions,
        _ isInterrupted: () -> Bool, _ report: (FollowEvent) -> Void
    ) throws -> FollowPreparation {
        let isFirst = try opened?.followedSources(as: FollowedSource.self).isEmpty ?? true
        let nothing = isFirst ? "the store follows nothing yet" : "the store does not follow a source \(name) yet"
        guard let address = options.address, !options.tables.isEmpty else {
            throw SourceError(.usage, nothing, remedy: .nameSource)
        }
        if let table = options.droppedTables.first { throw SourceError(.usage, "\(nothing), also not \(table)") }
        var connection = try Connection(address)
        var recovery = Recovery(copiesAgain: false)
        while true {
            do {
                return try FollowPreparation(startingAt: path, name, opened, address, connection, options, report)
            } catch let error as SourceError where error.kind == .connection && !options.endsWhenCurrent {
                report(recovery.warning(of: error))
                try recovery.wait(isInterrupted)
                connection = try recovery.connect(to: address, isInterrupted) { report($1.warning(of: $0)) }
            }
        }
    }

    /// Checks the source and its tables, then opens the store, or creates it, and adds the tables' entities. The
    /// follower's first commit stores which tables the store follows.
    private init(
        startingAt path: String, _ name: String, _ opened: PersistentContainer?, _ address: String,
        _ connection: Connection, _ options: FollowOptions, _ report: (FollowEvent) -> Void
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
        let others = try opened.map { try OtherSources(than: name, in: $0) } ?? OtherSources()
        let model = try opened?.model() ?? Model(entities: [])
        var plan = try EntityPlan(tables, in: model, besides: others)
        let makesPublication = way == .stream && options.publication == nil
        try SourceRights(connection).require(tables, makesPublication: makesPublication)
        let container = try Self.open(path, plan, model)
        try plan.requireCopies(of: name, in: container)
        let identifier = container.storeIdentifier.map { $0.uuidString.filter { $0 != "-" }.prefix(12).lowercased() }
        let own = "fetchindex_\(identifier ?? "store")" + (name == SourceName.main ? "" : "_\(name)")
        source = FollowedSource(
            way, named: name, address: address, systemIdentifier: system, slot: options.slot ?? own,
            publication: options.publication ?? own, ownsSlot: options.slot == nil,
            ownsPublication: options.publication == nil, tables: plan.tables)
        (self.container, self.connection) = (container, connection)
    }

    private static func isSlotName(_ name: String, atMost length: Int = 63) -> Bool {
        let allowed = "abcdefghijklmnopqrstuvwxyz0123456789_"
        return !name.isEmpty && name.utf8.count <= length && name.allSatisfy { allowed.contains($0) }
    }

    /// The longest name of a source, which is a part of its slot's name.
    private static let longestName = 40

    /// Returns the name of the source that options are for: the given name or, without one, that of the only source. Throws
    /// `SourceError`.
    static func name(_ given: String?, in container: PersistentContainer?) throws -> String {
        if let given {
            guard isSlotName(given, atMost: longestName) else {
                throw SourceError(
                    .usage,
                    "\"\(given)\" is not a valid name of a source: names have 1 to 40 characters of a to z, 0 to 9 and _"
                )
            }
            return given
        }
        let known = try container?.followedSources(as: FollowedSource.self).map(\.name) ?? []
        if known.count <= 1 { return known.first ?? SourceName.main }
        throw SourceError(
            .usage, "the store follows several sources: \(known.joined(separator: ", "))", remedy: .nameOneSource)
    }

    /// Returns a source that the store follows; if `name` is nil, the only one. Throws `SourceError`.
    static func source(named name: String?, in container: PersistentContainer) throws -> FollowedSource {
        let name = try Self.name(name, in: container)
        if let source = try container.followedSource(named: name, as: FollowedSource.self) { return source }
        let known = try container.followedSources(as: FollowedSource.self).map(\.name).joined(separator: ", ")
        throw SourceError(
            .usage, known.isEmpty ? "the store follows nothing" : "the store follows \(known), not \(name)")
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

    /// Opens the store, or creates it, and adds the tables' entities, which must be empty unless they are shared.
    private static func open(_ path: String, _ plan: EntityPlan, _ model: Model) throws -> PersistentContainer {
        guard Set(plan.tables.map(\.entity)).count == plan.tables.count else {
            throw SourceError(.usage, "two tables cannot become one entity", remedy: .chooseEntity(orDrop: nil))
        }
        let kept = model.entities.filter { entity in !plan.entities.contains { $0.name == entity.name } }
        let container = try PersistentContainer(
            storeAt: path, model: Model(entities: kept + plan.entities, requests: model.requests), creates: true)
        for table in plan.tables where !plan.shared.contains(table.entity) {
            try requireEmpty(table.entity, in: container)
        }
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
