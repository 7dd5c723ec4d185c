internal import FetchIndex

// The slot in the source, for which the source keeps its log.
extension Follower {
    /// Makes the slot if the store has no position yet; otherwise checks that it still has the log from the position on.
    func prepareSlot() throws {
        guard let reached else { return try makeSlot() }
        try checkSlot(has: reached)
        try checkEnd()
        try checkTables()
        if !source.ownsPublication { try checkPublication() }
        try checkMark()
    }

    private func checkSlot(has reached: LogPosition) throws {
        let found = try connection.execute(
            "SELECT confirmed_flush_lsn, wal_status FROM pg_catalog.pg_replication_slots WHERE slot_name = $1",
            [source.slot], columns: 2)
        guard let slot = found.first else {
            throw SourceError(.lost, "the slot \(source.slot) is gone from the source")
        }
        if slot[1] == "lost" {
            throw SourceError(
                .lost,
                "the source has dropped what the slot \(source.slot) was to hold (max_slot_wal_keep_size)")
        }
        if let confirmed = slot[0].flatMap({ LogPosition($0) }), confirmed > reached {
            throw SourceError(
                .lost,
                "the slot \(source.slot) is at \(confirmed), ahead of this store (\(reached)): the changes between are lost; another store "
                    + "reads it, or this one is an old copy")
        }
    }

    /// Checks that the source's log reaches every position that the store knows of it. An older copy of the source doesn't.
    private func checkEnd() throws {
        let known = [reached, source.consistentFrom.flatMap { LogPosition($0) }] + source.tables.map(\.copy.after)
        let text = try connection.value("SELECT pg_catalog.pg_current_wal_insert_lsn()")
        guard let end = text.flatMap({ LogPosition($0) }), let latest = known.compactMap({ $0 }).max(), end < latest
        else { return }
        throw SourceError(.lost, "the source ends at \(end), before this store (\(latest)): it is an older copy")
    }

    // MARK: Making a slot

    /// Makes the publication and the slot, or takes given ones, and stores the slot's position. What is to be made is stored
    /// first, so that a follower that is killed here leaves nothing unknown in the source.
    private func makeSlot() throws {
        for index in source.tables.indices { try adoptCatalogue(index) }
        let exists = try checkGivenSlot()
        if source.ownsPublication { try makePublication() } else { try checkPublication() }
        source.mark = try sourceMark()
        source.timeline = try Connection(source.address, isReplication: true).timeline()
        for index in source.tables.indices where source.tables[index].copy.hasBegun {
            source.tables[index].copy.requireCopy()
        }
        try store(position: nil)
        var start: String?
        if !exists || source.ownsSlot {
            if exists { try connection.dropSlot(source.slot, isInterrupted: isInterrupted) }
            source.ownsSlot = true
            start = try createSlot()
        }
        if start == nil { start = try advanceGivenSlot() }
        guard let start, LogPosition(start) != nil else {
            throw SourceError(.refused, "the slot \(source.slot) has no position")
        }
        try waitForOpenTransactions()
        try store(position: SourcePosition(text: start, time: 0))
    }

    /// Whether the slot exists. Throws `SourceError` for one that can't be followed.
    private func checkGivenSlot() throws -> Bool {
        let known = try connection.execute(
            """
            SELECT wal_status, plugin, pg_catalog.to_jsonb(s)->>'two_phase', database = pg_catalog.current_database()
            FROM pg_catalog.pg_replication_slots s WHERE slot_name = $1
            """, [source.slot], columns: 4)
        guard let slot = known.first else { return false }
        if slot[0] == "lost", !source.ownsSlot {
            throw SourceError(.refused, "the slot \(source.slot) is lost", remedy: .dropSlot)
        }
        if slot[2] == "true" || slot[3] == "f" {
            let what = slot[3] == "f" ? "of another database" : "one of prepared transactions (two_phase)"
            throw SourceError(.refused, "the slot \(source.slot) is \(what)")
        }
        let plugin = slot[1] ?? "no plugin"
        if plugin != "pgoutput" {
            throw SourceError(.refused, "the slot \(source.slot) is one of \(plugin), not of pgoutput")
        }
        return true
    }

    /// Creates the slot and returns its position. If that fails, nothing is left in the source.
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

    /// Advances a given slot to the present end of the log and returns its position. Its older log may be from before the
    /// tables and the publication were as they are now.
    private func advanceGivenSlot() throws -> String? {
        try waitForOpenTransactions()
        return try connection.slowValue(
            "SELECT end_lsn FROM pg_catalog.pg_replication_slot_advance(\(source.slot.quotedText), pg_catalog.pg_current_wal_flush_lsn())",
            isInterrupted: isInterrupted)
    }

    private func store(position: SourcePosition?) throws {
        self.position = position
        try commit(KeyedRowWriter(in: container, author: "postgres", changesRecords: false))
    }

    // MARK: Again, and ending

    /// Drops the slot and makes another one. All tables are copied again, over the rows in the store.
    func prepareAgain() throws {
        try adoptServer()
        // A table that can't be followed is refused here, before anything is dropped.
        for index in source.tables.indices { try requireTable(index) }
        if source.way == .stream, source.ownsSlot {
            try connection.dropSlot(source.slot, isInterrupted: isInterrupted)
        }
        for index in source.tables.indices { source.tables[index].copy = .due(.again, after: nil) }
        source.consistentFrom = nil
        unseen.removeAll()
        let writer = try KeyedRowWriter(in: container, author: "postgres", changesRecords: false)
        // Ending removes the stored position, too.
        try writer.endFollowing()
        try writer.setFollowedSource(source)
        position = nil
        try commit(writer)
        try source.way == .stream ? makeSlot() : prepareChangeTable()
    }

    /// Takes the server that the address leads to now, which may be another one.
    private func adoptServer() throws {
        let server = try FollowPreparation.checkServer(connection, source.address, source.way, is: nil)
        if server == source.systemIdentifier { return }
        source.systemIdentifier = server
        // Another server numbers its tables on its own.
        for index in source.tables.indices { source.tables[index].number = 0 }
        if source.way == .stream, source.ownsSlot {
            tell(.warning("the server that was followed before may still keep its log for the slot \(source.slot)"))
        }
    }

    /// Ends following: the slot and the publication are dropped if they were made for the store, and the rows stay. Returns a
    /// sentence about what is left in the source, if that can't be reached.
    package static func end(storeAt path: String) throws -> String? {
        let container = try PersistentContainer(storeAt: path)
        let lock = try lock(path)
        guard let source = try container.followedSource(as: FollowedSource.self) else {
            throw SourceError(.usage, "the store follows nothing")
        }
        var left: String?
        do { try dropOwned(of: source) } catch let error as SourceError where error.kind == .connection {
            left = "\(error); the slot \(source.slot) and the publication \(source.publication) may be left in it"
        }
        let writer = try KeyedRowWriter(in: container, author: "postgres", changesRecords: false)
        try writer.endFollowing()
        try writer.commit()
        withExtendedLifetime(lock) {}
        return left
    }

    /// Drops what was made in the source for the store. A change table knows nothing of its followers.
    private static func dropOwned(of source: FollowedSource) throws {
        guard source.way == .stream else { return }
        let connection = try Connection(source.address)
        if source.ownsSlot { try connection.dropSlot(source.slot) }
        if source.ownsPublication {
            try connection.execute("DROP PUBLICATION IF EXISTS \(source.publication.quotedName)")
        }
    }
}

extension String {
    /// The text without a full stop, for a sentence that goes on.
    fileprivate var withoutEnd: String { hasSuffix(".") ? String(dropLast()) : self }
}
