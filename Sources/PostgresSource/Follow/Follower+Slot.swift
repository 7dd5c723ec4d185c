internal import FetchIndex
internal import FetchIndexCLibrary

// The publication and the slot in the source.
extension Follower {
    /// Makes the slot where the store has no position yet, and else checks that it still holds what comes after it.
    func prepareSlot() throws {
        guard let position, let reached = LogPosition(position.text) else { return try makeSlot() }
        let found = try connection.execute(
            "SELECT confirmed_flush_lsn, wal_status FROM pg_catalog.pg_replication_slots WHERE slot_name = $1",
            [source.slot], columns: 2)
        guard let slot = found.first else {
            throw SourceError(
                .lost, "the slot \(source.slot) is gone from the source; --recopy copies all tables again")
        }
        if slot[1] == "lost" {
            throw SourceError(
                .lost,
                "the source has dropped what the slot \(source.slot) was to hold (max_slot_wal_keep_size); --recopy copies all tables "
                    + "again")
        }
        if let confirmed = slot[0].flatMap({ LogPosition($0) }), confirmed > reached {
            throw SourceError(
                .lost,
                "the slot \(source.slot) is at \(confirmed), ahead of this store (\(reached)): the changes between are lost; another store "
                    + "reads it, or this one is an old copy; --recopy copies all tables again")
        }
        if let end = try connection.value("SELECT pg_catalog.pg_current_wal_insert_lsn()").flatMap({ LogPosition($0) }),
            let known = ([position.text, source.consistentFrom] + source.tables.map(\.changedUntil)).compactMap({
                $0.flatMap { LogPosition($0) }
            }).max(), end < known
        {
            let what = "the source ends at \(end), before this store (\(known)): it is an older copy"
            throw SourceError(.lost, "\(what); --recopy copies all tables again")
        }
        try checkTables()
        if !source.ownsPublication { try checkPublication() }
        try checkMark()
    }

    /// Checks that the names of the tables are still those of the same tables.
    func checkTables() throws {
        for table in source.tables {
            let number = try connection.value(
                """
                SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                WHERE n.nspname = $1 AND c.relname = $2
                    AND ($3 = 'changeTable' OR EXISTS (SELECT FROM pg_catalog.pg_publication_tables p
                        WHERE p.pubname = $4 AND p.schemaname = n.nspname AND p.tablename = c.relname))
                """, [table.schema, table.name, source.way.rawValue, source.publication])
            guard number.flatMap({ UInt32($0) }) == table.number else {
                let what =
                    number == nil ? "was dropped or renamed, or its publication is gone" : "is another table now"
                throw SourceError(
                    .lost,
                    "\(table.schema).\(table.name) \(what); --recopy copies all tables again, --end ends following")
            }
        }
    }

    /// Takes over from the catalogue what the tables are now.
    private func adoptTables() throws {
        for index in source.tables.indices { try adoptCatalogue(index) }
    }

    private func makeSlot() throws {
        try adoptTables()
        let known = try connection.execute(
            """
            SELECT wal_status, plugin, pg_catalog.to_jsonb(s)->>'two_phase', database = pg_catalog.current_database()
            FROM pg_catalog.pg_replication_slots s WHERE slot_name = $1
            """, [source.slot], columns: 4)
        if known.first?[0] == "lost", !source.ownsSlot {
            throw SourceError(
                .refused, "the slot \(source.slot) is lost: drop it in the source, then --recopy makes another one")
        }
        if let slot = known.first, slot[2] == "true" || slot[3] == "f" {
            let what = slot[3] == "f" ? "of another database" : "one of prepared transactions (two_phase)"
            throw SourceError(.refused, "the slot \(source.slot) is \(what)")
        }
        if let plugin = known.first.map({ $0[1] ?? "no plugin" }), plugin != "pgoutput" {
            throw SourceError(.refused, "the slot \(source.slot) is one of \(plugin), not of pgoutput")
        }
        if source.ownsPublication { try makePublication() } else { try checkPublication() }
        source.mark = try sourceMark()
        source.timeline = try Connection(source.address, isReplication: true).timeline()
        // The names first: what a follower that is killed here has made, the next one finds.
        for index in source.tables.indices
        where source.tables[index].isCopied || source.tables[index].copiedThrough != nil {
            source.tables[index].requireCopy()
        }
        try store(position: nil)
        var start: String?
        if known.isEmpty || source.ownsSlot {
            if !known.isEmpty { try Self.dropSlot(source.slot, connection) }
            source.ownsSlot = true
            start = try createSlot()
        }
        if start == nil {
            // What it holds may be older than the tables and the publication as they are now.
            try waitForOpenTransactions()
            start = try connection.slowValue(
                "SELECT end_lsn FROM pg_catalog.pg_replication_slot_advance(\(source.slot.quotedText), pg_catalog.pg_current_wal_flush_lsn())",
                isInterrupted: isInterrupted)
        }
        guard let start, LogPosition(start) != nil else {
            throw SourceError(.refused, "the slot \(source.slot) has no position")
        }
        try waitForOpenTransactions()
        try store(position: SourcePosition(text: start, time: 0))
    }

    /// Returns where it begins. Where it cannot be made, nothing is left in the source.
    private func createSlot() throws -> String? {
        do {
            tell(.makingSlot(source.slot))
            return try connection.slowValue(
                "SELECT lsn FROM pg_catalog.pg_create_logical_replication_slot(\(source.slot.quotedText), 'pgoutput')",
                isInterrupted: isInterrupted)
        } catch let error as SourceError where error.kind == .refused {
            if source.ownsPublication {
                _ = try? connection.execute("DROP PUBLICATION IF EXISTS \(source.publication.quotedName)")
            }
            guard error.code == "53400" else { throw error }
            throw SourceError(
                .refused,
                "\(error.description.withoutEnd); max_replication_slots limits their number, and unused ones can be dropped"
            )
        }
    }

    /// A transaction may be in the log before the slot and not be seen yet: it waits for a standby. Neither the stream nor a copy would
    /// have it.
    func waitForOpenTransactions() throws {
        let end = try connection.value("SELECT pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())")
        while try connection.value(
            "SELECT pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot()) >= $1::pg_catalog.xid8", [end]) == "f"
        {
            try requireNotInterrupted()
            usleep(50_000)
        }
    }

    private func store(position: SourcePosition?) throws {
        self.position = position
        try commit(KeyedRowWriter(in: container, author: "postgres", changesRecords: false))
    }

    /// Drops the slot and makes another one; all tables are copied again, over the rows that are here.
    func prepareAgain() throws {
        let server = try FollowPreparation.checkServer(connection, source.address, source.way, is: nil)
        if server != source.systemIdentifier {
            source.systemIdentifier = server
            // Numbers there mean nothing here.
            for index in source.tables.indices { source.tables[index].number = 0 }
            if source.way == .stream, source.ownsSlot {
                tell(.warning("the server that was followed before may still keep its log for the slot \(source.slot)"))
            }
        }
        // What cannot be copied ends it here, with nothing dropped.
        for index in source.tables.indices { try requireTable(index) }
        if source.way == .stream, source.ownsSlot { try Self.dropSlot(source.slot, connection) }
        for index in source.tables.indices {
            source.tables[index].requireCopy()
            source.tables[index].changedUntil = nil
        }
        (source.consistentFrom, lastTransactions) = (nil, [])
        let writer = try KeyedRowWriter(in: container, author: "postgres", changesRecords: false)
        // The stored position goes with the description.
        try writer.endFollowing()
        try writer.setFollowedSource(source)
        position = nil
        try commit(writer)
        try source.way == .stream ? makeSlot() : prepareChangeTable()
    }

    /// Ends following: the slot and the publication are dropped where they were made for the store, and the rows stay. Returns what
    /// stays in the source, because it cannot be reached.
    package static func end(storeAt path: String) throws -> String? {
        let container = try PersistentContainer(storeAt: path)
        let lock = try lock(path)
        guard let source = try container.followedSource(as: FollowedSource.self) else {
            throw SourceError(.usage, "the store follows nothing")
        }
        var left: String?
        do {
            // A change table knows nothing of its followers.
            let connection = try source.way == .stream ? Connection(source.address) : nil
            if let connection, source.ownsSlot { try dropSlot(source.slot, connection) }
            if let connection, source.ownsPublication {
                try connection.execute("DROP PUBLICATION IF EXISTS \(source.publication.quotedName)")
            }
        } catch let error as SourceError where error.kind == .connection {
            left = "\(error); the slot \(source.slot) and the publication \(source.publication) may be left in it"
        }
        let writer = try KeyedRowWriter(in: container, author: "postgres", changesRecords: false)
        try writer.endFollowing()
        try writer.commit()
        withExtendedLifetime(lock) {}
        return left
    }

    private static func dropSlot(_ name: String, _ connection: Connection) throws {
        try connection.execute(
            "SELECT pg_catalog.pg_drop_replication_slot(slot_name) FROM pg_catalog.pg_replication_slots WHERE slot_name = $1",
            [name])
    }
}

extension String {
    /// For a sentence that goes on.
    fileprivate var withoutEnd: String { hasSuffix(".") ? String(dropLast()) : self }
}
