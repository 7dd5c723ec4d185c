internal import FetchIndex

// The slot in the source, for which the source retains its log (WAL).
extension Follower {
    /// Creates the slot, or advances a given one, if the store has no position yet. Otherwise checks that following can
    /// continue at the position: the source still has the log after it, and the tables and the publication are the
    /// followed ones.
    func prepareSlot() throws {
        guard let reached else { return try makeSlot() }
        try checkSlot(has: reached)
        try checkEnd()
        // An earlier process was ended while it changed the followed tables.
        if source.mark == nil { try takeOverTables() }
        try checkTables()
        if !source.ownsPublication { try checkPublication() }
        try checkMark()
    }

    private func checkSlot(has reached: LogPosition) throws {
        let found = try connection.execute(
            "SELECT confirmed_flush_lsn, wal_status FROM pg_catalog.pg_replication_slots WHERE slot_name = $1",
            [source.slot], columns: 2)
        guard let slot = found.first else {
            throw SourceError(.lost, "the source no longer has the slot \(source.slot)")
        }
        if slot[1] == "lost" {
            throw SourceError(
                .lost,
                "the slot \(source.slot) is lost; the source may have deleted log that the slot still needed (max_slot_wal_keep_size)"
            )
        }
        if let confirmed = slot[0].flatMap({ LogPosition($0) }), confirmed > reached {
            throw SourceError(
                .lost,
                "the slot \(source.slot) is at \(confirmed), ahead of this store (\(reached)): changes between the two may be lost; "
                    + "something else has advanced the slot, or this store is an old copy")
        }
    }

    /// Checks that the source's log reaches each of its positions that the store has. The log of an older copy of the
    /// source may end earlier.
    private func checkEnd() throws {
        let known = [reached, source.consistentFrom.flatMap { LogPosition($0) }] + source.tables.map(\.copy.after)
        let text = try connection.value("SELECT pg_catalog.pg_current_wal_insert_lsn()")
        guard let end = text.flatMap({ LogPosition($0) }), let latest = known.compactMap({ $0 }).max(), end < latest
        else { return }
        throw SourceError(
            .lost, "the source's log ends at \(end), before this store (\(latest)): the source is an older copy")
    }

    // MARK: Making a slot

    /// Creates the publication and the slot, except existing ones that the user named, which it checks, and stores the
    /// slot's position. The store gets the names of both before either is created. So a follower that is killed here
    /// leaves nothing in the source that the store has no record of.
    private func makeSlot() throws {
        for index in source.tables.indices { try adoptCatalogue(index) }
        let exists = try checkGivenSlot()
        if !exists { source.ownsSlot = true }
        if !source.ownsPublication { try checkPublication() }
        source.timeline = try Connection(source.address, isReplication: true).timeline()
        for index in source.tables.indices where source.tables[index].copy.hasBegun {
            source.tables[index].copy.requireCopy()
        }
        try store(position: nil)
        if source.ownsPublication { try makePublication() }
        source.mark = try sourceMark()
        if source.ownsSlot, exists { try connection.dropSlot(source.slot, isInterrupted: isInterrupted) }
        let start = try source.ownsSlot ? createSlot() : advanceGivenSlot()
        guard let start, LogPosition(start) != nil else {
            throw SourceError(.refused, "the slot \(source.slot) has no position")
        }
        try waitForOpenTransactions()
        try store(position: SourcePosition(text: start, time: 0))
    }

    /// Returns whether the slot exists. Throws `SourceError` if it exists and can't be followed.
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
            let what = slot[3] == "f" ? "belongs to another database" : "sends prepared transactions (two_phase)"
            throw SourceError(.refused, "the slot \(source.slot) \(what)")
        }
        let plugin = slot[1] ?? "no plugin"
        if plugin != "pgoutput" {
            throw SourceError(.refused, "the slot \(source.slot) uses \(plugin) instead of pgoutput")
        }
        return true
    }

    private static let firstWithFailoverSlots = 170_000

    /// Creates the slot and returns its position. If the source refuses, drops the publication if it is the store's
    /// own. After a lost connection or an interruption, the publication and perhaps the slot are left in the source.
    private func createSlot() throws -> String? {
        do {
            tell(.makingSlot(source.slot))
            // A failover slot is kept up to date on standbys, so that following goes on after one has taken over.
            let isFailover = connection.serverVersion >= Self.firstWithFailoverSlots
            return try connection.slowValue(
                "SELECT lsn FROM pg_catalog.pg_create_logical_replication_slot(\(source.slot.quotedText), 'pgoutput'"
                    + (isFailover ? ", failover => true)" : ")"),
                isInterrupted: isInterrupted)
        } catch let error as SourceError where error.kind == .refused {
            if source.ownsPublication {
                _ = try? connection.execute("DROP PUBLICATION IF EXISTS \(source.publication.quotedName)")
            }
            guard error.code == "53400" else { throw error }
            throw SourceError(
                .refused,
                "\(error.description.withoutEnd); max_replication_slots limits the number of slots, and unused slots can be dropped"
            )
        }
    }

    /// Advances a given slot to the end of the source's flushed log, and returns its position. The older log is
    /// skipped, because it may show the tables or the publication in an earlier form.
    private func advanceGivenSlot() throws -> String? {
        try waitForOpenTransactions()
        return try connection.slowValue(
            "SELECT end_lsn FROM pg_catalog.pg_replication_slot_advance(\(source.slot.quotedText), pg_catalog.pg_current_wal_flush_lsn())",
            isInterrupted: isInterrupted)
    }

    private func store(position: SourcePosition?) throws {
        self.position = position
        try commit(beginWriting(changesRecords: false))
    }

    // MARK: Copying again, and ending

    /// Prepares to copy all tables again, over the rows in the store. The store's own slot is dropped and created
    /// again, an existing given slot is advanced, and for a change table the current snapshot is taken as the position.
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
        let writer = try beginWriting(changesRecords: false)
        // `endFollowing` is called because it removes the stored position.
        try writer.endFollowing(name)
        try writer.setFollowedSource(source, named: name)
        position = nil
        try commit(writer)
        try source.way == .stream ? makeSlot() : prepareChangeTable()
    }

    /// Adopts the server that the address leads to now, which may be another one.
    private func adoptServer() throws {
        let server = try FollowPreparation.checkServer(connection, source.address, source.way, is: nil)
        if server == source.systemIdentifier { return }
        source.systemIdentifier = server
        source.formerTables = nil
        // Another server has other table numbers (OIDs). With 0, columns are found by their names.
        for index in source.tables.indices { source.tables[index].number = 0 }
        if source.way == .stream, source.ownsSlot {
            tell(.warning("the server that was followed before may still keep its log for the slot \(source.slot)"))
        }
    }

    /// Ends following a source; if `name` is nil, the only one. Drops the slot and the publication if they are the store's
    /// own; the rows stay in the store. If the source can't be reached, returns a sentence about what may be left in the
    /// source; otherwise nil.
    package static func end(storeAt path: String, named name: String? = nil) throws -> String? {
        let container = try PersistentContainer(storeAt: path)
        let group = FollowerGroup()
        try group.lock(path)
        let source = try FollowPreparation.source(named: name, in: container)
        var left: String?
        do { try dropOwned(of: source) } catch let error as SourceError where error.kind == .connection {
            left =
                "\(error); the slot \(source.slot) and the publication \(source.publication) may be left in the source"
        }
        let writer = try KeyedRowWriter(in: container, author: "postgres", changesRecords: false)
        try writer.endFollowing(source.name)
        try writer.commit()
        withExtendedLifetime(group) {}
        return left
    }

    /// Drops the slot and the publication if they are the store's own. A change table has no record of its followers,
    /// so nothing is dropped for it.
    static func dropOwned(of source: FollowedSource) throws {
        guard source.way == .stream else { return }
        let connection = try Connection(source.address)
        if source.ownsSlot { try connection.dropSlot(source.slot) }
        if source.ownsPublication {
            try connection.execute("DROP PUBLICATION IF EXISTS \(source.publication.quotedName)")
        }
    }
}

extension String {
    /// The text without its final full stop, for a sentence that continues.
    fileprivate var withoutEnd: String { hasSuffix(".") ? String(dropLast()) : self }
}
