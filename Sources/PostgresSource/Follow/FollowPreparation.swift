internal import FetchIndex
internal import FetchIndexEssentials
internal import FetchIndexModels

/// What must be right before anything is followed: the source's settings, its tables, and the store's model. Nothing is made while
/// something is wrong.
struct FollowPreparation {
    let container: PersistentContainer
    let source: FollowedSource
    let connection: Connection

    private static let oldestServer = 130_000
    /// The first that publishes some columns and some rows of a table.
    static let firstWithFilters = 150_000

    init(storeAt path: String, _ options: FollowOptions, _ report: (FollowEvent) -> Void) throws {
        if let address = options.address { try SourceAddress.check(address) }
        if let slot = options.slot, !Self.isSlotName(slot) {
            throw SourceError(
                .usage, "a slot's name is of at most 63 letters a to z, digits and _, and this is another one: \(slot)")
        }
        let opened = try Self.opened(path)
        if let opened, let stored = try opened.followedSource(as: FollowedSource.self),
            try !Self.isAbandoned(stored, opened, options)
        {
            (container, source) = (opened, stored)
            if let address = options.address, address != stored.address {
                throw SourceError(.usage, "the store follows \(stored.address); --end ends that")
            }
            try Self.require(options, of: stored)
            connection = try Connection(stored.address)
            try Self.checkServer(
                connection, stored.address, stored.way, is: options.recopies ? nil : stored.systemIdentifier)
        } else {
            guard let address = options.address, !options.tables.isEmpty else {
                throw SourceError(.usage, "the store follows nothing yet: say postgres://… and --table")
            }
            let connection = try Connection(address)
            self.connection = connection
            let way = options.usesChangeTable ? FollowedSource.Way.changeTable : .stream
            let system = try Self.checkServer(connection, address, way, is: nil)
            let tables = try options.tables.map { try SourceTable($0, connection, way) }
            if way == .stream {
                try Self.requireFilters(tables, connection)
            } else {
                try Self.requireLasting(tables, connection, report)
            }
            if way == .stream, Set(tables.map(\.number)).count < tables.count {
                throw SourceError(.usage, "a table of the source's log becomes one entity: name each --table once")
            }
            let (followed, entities) = try SourceTable.followed(tables)
            let made = try Self.open(path, entities)
            container = made
            let identifier = made.storeIdentifier.map { $0.uuidString.filter { $0 != "-" }.prefix(12).lowercased() }
            let name = "fetchindex_\(identifier ?? "store")"
            source = FollowedSource(
                way, address: address, systemIdentifier: system, slot: options.slot ?? name,
                publication: options.publication ?? name, ownsSlot: options.slot == nil,
                ownsPublication: options.publication == nil, tables: followed)
        }
        let state = try container.pinnedState()
        for name in options.caches where try state.request(ofCache: name) == nil {
            throw try container.unknownCache(name)
        }
        report(.connected(source.address))
        if source.way == .stream, try connection.value("SHOW max_slot_wal_keep_size") == "-1" {
            report(
                .warning(
                    "max_slot_wal_keep_size is not set on the source: its log grows without limit while nobody follows")
            )
        }
    }

    private static func isSlotName(_ name: String) -> Bool {
        let allowed = "abcdefghijklmnopqrstuvwxyz0123456789_"
        return !name.isEmpty && name.utf8.count <= 63 && name.allSatisfy { allowed.contains($0) }
    }

    /// Nil where there is no store yet.
    private static func opened(_ path: String) throws -> PersistentContainer? {
        do { return try PersistentContainer(storeAt: path) } catch {
            switch error {
            // One that was being made when its process was killed is none yet; what is no store is refused when one is made there.
            case StoreError.missing, StoreError.notAStore: return nil
            default: throw error
            }
        }
    }

    /// Returns what tells the server from others.
    @discardableResult
    static func checkServer(
        _ connection: Connection, _ address: String, _ way: FollowedSource.Way, is identifier: String?
    ) throws -> String {
        guard connection.serverVersion >= oldestServer else {
            let version = connection.serverVersion / 10_000
            throw SourceError(.refused, "the source is PostgreSQL \(version); 13 is the oldest that can be followed")
        }
        let found = try way == .stream ? streamIdentifier(connection, address) : ChangeTable.identifier(connection)
        if let identifier, identifier != found {
            let what = way == .stream ? "is another server" : "has another change table"
            throw SourceError(
                .refused,
                "\(address) \(what) than the one that the store follows; --recopy copies all tables from it, --end ends following"
            )
        }
        return found
    }

    private static func streamIdentifier(_ connection: Connection, _ address: String) throws -> String {
        let level = try connection.value("SHOW wal_level") ?? ""
        guard level == "logical" else {
            throw SourceError(
                .refused,
                "the source's log says too little (wal_level is \(level)): ALTER SYSTEM SET wal_level = logical, then restart it"
            )
        }
        do {
            return try Connection(address, isReplication: true).value("IDENTIFY_SYSTEM") ?? ""
        } catch let error as SourceError where error.kind == .connection && error.answer.contains("replication") {
            throw SourceError(
                .refused,
                "\(error.description); ALTER ROLE … REPLICATION gives the right, and pg_hba.conf must allow it")
        }
    }

    /// Whether a first attempt got no further than the names: then others may be chosen. Its entities, which are empty, are dropped.
    private static func isAbandoned(
        _ source: FollowedSource, _ container: PersistentContainer, _ options: FollowOptions
    ) throws -> Bool {
        guard try container.sourcePosition() == nil, options.address != nil, !options.tables.isEmpty,
            source.tables.allSatisfy({ !$0.isCopied && !$0.replaces && $0.copiedThrough == nil })
        else { return false }
        for table in source.tables where try container.model().entity(named: table.entity) != nil {
            _ = try? container.dropEmptyEntity(named: table.entity)
        }
        return true
    }

    private static func require(_ options: FollowOptions, of stored: FollowedSource) throws {
        func refuse(_ what: String) -> SourceError {
            SourceError(.usage, "the store follows \(what); --end ends that, so that others can be followed")
        }
        let names = stored.tables.map { "\($0.title)=\($0.entity)" }.joined(separator: ", ")
        if !options.tables.isEmpty {
            guard options.tables.count == stored.tables.count,
                options.tables.allSatisfy({ choice in stored.tables.contains { choice.matches($0) } })
            else { throw refuse("\(names), with options that are not all the same") }
        }
        if options.usesChangeTable, stored.way == .stream { throw refuse("the source's log") }
        if let slot = options.slot, slot != stored.slot { throw refuse("the slot \(stored.slot)") }
        if let publication = options.publication, publication != stored.publication {
            throw refuse("the publication \(stored.publication)")
        }
    }

    private static func requireFilters(_ tables: [SourceTable], _ connection: Connection) throws {
        guard connection.serverVersion < firstWithFilters,
            let table = tables.first(where: { $0.choice.condition != nil })
        else { return }
        throw SourceError(
            .refused,
            "--where needs PostgreSQL 15, and the source of \(table.choice.title) is \(connection.serverVersion / 10_000)"
        )
    }

    /// Refuses conditions whose outcome changes with the time of day, or by chance: no trigger tells of it. The source knows them when an
    /// index is made; this one is of an empty table, and given up. Publications check for themselves.
    private static func requireLasting(
        _ tables: [SourceTable], _ connection: Connection, _ report: (FollowEvent) -> Void
    ) throws {
        for table in tables {
            guard let condition = table.choice.condition else { continue }
            defer { _ = try? connection.execute("ROLLBACK") }
            let name = table.choice.name.quotedName
            do {
                try connection.execute("BEGIN; CREATE TEMPORARY TABLE \(name) (LIKE \(table.choice.quoted))")
                try connection.execute("CREATE INDEX ON pg_temp.\(name) ((1)) WHERE (\(condition))")
            } catch let error as SourceError where error.code == "42P17" {
                throw SourceError(
                    .usage, "--where \(condition) may change its outcome while the row does not, which nothing tells of"
                )
            } catch let error as SourceError where ["42501", "25006"].contains(error.code) {
                report(.warning("whether --where \(condition) depends on the time cannot be checked: \(error)"))
            } catch let error as SourceError where error.kind == .refused {
                throw SourceError(
                    .usage, "--where \(condition) is not a condition of the table's columns alone: \(error)")
            }
        }
    }

    /// Opens the store with the tables' entities.
    private static func open(_ path: String, _ entities: [Entity]) throws -> PersistentContainer {
        guard Set(entities.map(\.name)).count == entities.count else {
            throw SourceError(.usage, "two tables cannot become one entity: --table SCHEMA.TABLE=ENTITY names another")
        }
        let container = try PersistentContainer(storeAt: path, model: Model(entities: entities), creates: true)
        for entity in entities {
            let count = try container.count(ofEntity: entity.name)
            if count > 0 {
                throw SourceError(
                    .refused,
                    "the store has objects of \(entity.name) already (\(count)), which do not come from the source: follow into another entity, "
                        + "--table SCHEMA.TABLE=ENTITY, or drop it first: `fetchindex model drop-entity STORE --entity \(entity.name)`"
                )
            }
        }
        return container
    }
}

extension SourceError {
    /// What the server has answered: not the names of hosts, which libpq puts before it.
    fileprivate var answer: Substring {
        description.firstRange(of: " failed: ").map { description[$0.upperBound...] } ?? ""
    }
}
