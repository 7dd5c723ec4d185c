internal import FetchIndex
internal import FetchIndexCLibrary
internal import FetchIndexEssentials
internal import FetchIndexModels

// Following by the change table.
extension Follower {
    private static let pollMilliseconds: Int32 = 50
    /// The interval at which the catalogue is checked, and a position without changes is stored.
    private static let checkInterval = Duration.seconds(10)
    private static let longestPause = Duration.milliseconds(500)

    /// Returns the SQL that creates the change table and its triggers in a source. Throws `SourceError`.
    package static func setup(_ address: String, _ choices: [TableChoice]) throws -> String {
        try SourceAddress.check(address)
        let connection = try Connection(address)
        return try ChangeTable.setup(for: SourceTable.read(choices, connection, .changeTable))
    }

    /// Takes the source's current snapshot as the position, unless the store has a position. Changes after it are read
    /// from the change table.
    func prepareChangeTable() throws {
        if position != nil {
            // An earlier process was ended while it changed the followed tables.
            if source.mark == nil { try takeOverTables() }
            return
        }
        for index in source.tables.indices { try adoptCatalogue(index) }
        source.mark = try sourceMark()
        position = SourcePosition(
            text: try connection.value("SELECT pg_catalog.pg_current_snapshot()") ?? "", time: 0)
        try commit(beginWriting(changesRecords: false))
    }

    /// Reads changes until it is interrupted or, if `endsWhenCurrent` is set, until the store has caught up.
    func followChangeTable(_ isConnected: () -> Void) throws {
        try connection.execute("LISTEN \(ChangeTable.channel)")
        try checkSource()
        isConnected()
        defer { phase = .starting }
        try begin(.reading(isPastCopies: false))
        var (lastChecked, lastStored) = (ContinuousClock.now, ContinuousClock.now)
        var columns = KnownColumns()
        while true {
            try requireNotInterrupted()
            let start = ContinuousClock.now
            if start - lastChecked > Self.checkInterval {
                try checkSource()
                lastChecked = start
            }
            let outcome = try takeChanges(&columns)
            try copyWhatIsDue()
            if outcome == .taken {
                lastStored = .now
            } else if ContinuousClock.now - lastStored > Self.checkInterval {
                try storePosition()
                lastStored = .now
            }
            status.isBehind = outcome == .later
            status.heard = Date().timeIntervalSince1970
            status.write(.streaming, self)
            if options.endsWhenCurrent, outcome != .later, source.isConsistent {
                try checkSource()
                if source.isConsistent { return try storePosition() }
            }
            try pause(after: ContinuousClock.now - start)
        }
    }

    /// Pauses for as long as the preceding work took, but at least 2 and at most 500 ms, so that the source also has
    /// pauses. Then waits up to 50 ms for a notification, unless `endsWhenCurrent` is set.
    private func pause(after duration: Duration) throws {
        let pause = min(max(.milliseconds(2), duration), Self.longestPause)
        usleep(UInt32(clamping: Int64(pause / .microseconds(1))))
        if !options.endsWhenCurrent { try connection.waitForNotification(milliseconds: Self.pollMilliseconds) }
    }

    /// The outcome of reading the change table.
    private enum Outcome {
        case nothing
        case taken
        /// A table of the source is locked, or its columns have just changed, so the rows are read later.
        case later
    }

    /// The columns that the model was last compared with.
    private struct KnownColumns {
        var shape: String?
        /// The SQL types of the tables' key columns, by table number.
        var keyTypes: [UInt32: [String]] = [:]
    }

    private func keyTypes() throws -> [UInt32: [String]] {
        var types: [UInt32: [String]] = [:]
        for table in source.tables {
            types[table.number] = try table.key.compactMap { column in
                try connection.value(
                    """
                    SELECT pg_catalog.format_type(atttypid, -1) FROM pg_catalog.pg_attribute
                    WHERE attrelid = $1::oid AND attname = $2 AND NOT attisdropped
                    """, ["\(table.number)", column])
            }
        }
        return types
    }

    // MARK: Reading the change table

    /// Brings the store to the source's current snapshot: writes the changed rows as this snapshot shows them. If rows
    /// can't be read now, writes none and returns `later`.
    private func takeChanges(_ columns: inout KnownColumns) throws -> Outcome {
        let look = try ChangeReader(after: position?.text ?? "", source.tables, connection, locked: false)
        if look.noted.isEmpty {
            try takeSnapshot(of: look)
            return .nothing
        }
        if columns.shape != look.shape {
            // The model must fit the new columns before rows are read.
            try checkSource()
            columns = KnownColumns(shape: look.shape, keyTypes: try keyTypes())
        }
        // The writer takes the store's lock before the source's tables are locked: if another process holds the store's
        // lock, the source isn't blocked meanwhile.
        let writer = try beginWriting()
        guard let changes = try readChanges() else { return .later }
        guard changes.shape == columns.shape else {
            try changes.finish()
            return .later
        }
        try write(changes, writer, columns)
        return .taken
    }

    /// Takes over a snapshot in which no table has changed. It becomes the position only if it was durable when it was
    /// read, because a crash of the source may undo transactions that a snapshot shows. Before the store becomes
    /// consistent, waits until the snapshot is durable.
    private func takeSnapshot(of look: ChangeReader) throws {
        if !source.isConsistent { try look.waitUntilDurable(requireNotInterrupted) }
        if look.isDurable { position?.text = look.snapshot }
        phase = .reading(isPastCopies: true)
        if !source.isConsistent { try storePosition() }
    }

    /// Begins a transaction in which rows are read. Returns nil if the tables can't be locked in time, or without a
    /// deadlock.
    private func readChanges() throws -> ChangeReader? {
        do { return try ChangeReader(after: position?.text ?? "", source.tables, connection, locked: true) } catch {
            _ = try? connection.execute("ROLLBACK")
            guard let error = error as? SourceError else { throw error }
            // The locks weren't available in time, or would have caused a deadlock.
            if ["55P03", "40P01"].contains(error.code) { return nil }
            // If a followed table is missing or has another name, `checkSource` reports that more clearly.
            if error.code == "42P01" { try checkSource() }
            throw error
        }
    }

    private func write(_ changes: ChangeReader, _ writer: KeyedRowWriter, _ columns: KnownColumns) throws {
        try writer.beginNextCommit(author: author(changes.snapshot))
        do {
            for index in source.copyOrder {
                if let noted = changes.noted[source.tables[index].number] {
                    try takeRows(of: index, changes, writer, columns.keyTypes, isEmptied: noted.isEmptied)
                }
            }
            try linkLater(writer)
            try changes.finish()
        } catch {
            _ = try? connection.execute("ROLLBACK")
            throw error
        }
        try changes.waitUntilDurable(requireNotInterrupted)
        let time = changes.noted.values.map(\.time).min() ?? 0
        position = SourcePosition(text: changes.snapshot, time: time)
        let counts = writer.counts
        phase = .reading(isPastCopies: true)
        try commit(writer)
        tell(.transaction(changes.snapshot, counts, lag: max(0, Date().timeIntervalSince1970 - time)))
    }

    private func takeRows(
        of index: Int, _ changes: ChangeReader, _ writer: KeyedRowWriter, _ keyTypes: [UInt32: [String]],
        isEmptied: Bool
    ) throws {
        let table = source.tables[index]
        guard let types = keyTypes[table.number], types.count == table.key.count else {
            throw SourceError(.lost, "\(table.title) has no columns \(table.keyTitle) any more")
        }
        // The first columns are the changed key, and have no names.
        let names = types.map { _ in "" } + table.columns.map(\.name)
        var reader = try RowReader(table, names, of: source, besides: others, replaced, in: writer.model)
        var seen = SeenObjects()
        var row = CopiedRow()
        if isEmptied { source.tables[index].omittedRows = [:] }
        try changes.forEachRow(of: table, keyTypes: types) { bytes in
            row.read(bytes)
            try reader.requireWidth(row.fields)
            try row.bytes.withUnsafeBytes { bytes in
                let noted = try reader.notedKey(row.fields, bytes)
                keep(reader.notedOmittedKey(row.fields, bytes), of: index)
                guard reader.hasKey(row.fields) else { return try writer.delete(key: noted, reader.table) }
                let key = try reader.key(row.fields, bytes)
                // Texts that are equal keys in the source may be different keys in the store.
                if key != noted { try writer.delete(key: noted, reader.table) }
                try insert(row.fields, bytes, &reader, of: index, writer)
                if isEmptied, let number = try writer.object(reader.table, key: key) { seen.insert(number) }
            }
        }
        if isEmptied { try writer.deleteAll(of: reader.table) { !seen.contains($0) } }
    }
}
