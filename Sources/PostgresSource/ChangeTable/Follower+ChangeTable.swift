internal import FetchIndex
internal import FetchIndexCLibrary
internal import FetchIndexEssentials
internal import FetchIndexModels

// Following by the change table.
extension Follower {
    private static let pollMilliseconds: Int32 = 50
    private static let checkInterval = Duration.seconds(10)
    private static let longestPause = Duration.milliseconds(500)

    /// The SQL that a source needs to be followed by the change table. Throws `SourceError`.
    package static func setup(_ address: String, _ choices: [TableChoice]) throws -> String {
        try SourceAddress.check(address)
        let connection = try Connection(address)
        return try ChangeTable.setup(for: try choices.map { try SourceTable($0, connection, .changeTable) })
    }

    /// Takes the position from which on changes are read, before anything is copied.
    func prepareChangeTable() throws {
        guard position == nil else { return }
        for index in source.tables.indices { try adoptCatalogue(index) }
        source.mark = try sourceMark()
        position = SourcePosition(
            text: try connection.value("SELECT pg_catalog.pg_current_snapshot()") ?? "", time: 0)
        try commit(KeyedRowWriter(in: container, author: "postgres", changesRecords: false))
    }

    func followChangeTable(_ isConnected: () -> Void) throws {
        try connection.execute("LISTEN \(ChangeTable.channel)")
        try checkSource()
        isConnected()
        try beginStreaming()
        defer { isStreaming = false }
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
            status.write(.streaming, self)
            if options.endsWhenCurrent, outcome != .later, source.isConsistent {
                try checkSource()
                if source.isConsistent { return try storePosition() }
            }
            // A source with much to read is not asked all the time.
            let pause = min(max(.milliseconds(2), ContinuousClock.now - start), Self.longestPause)
            usleep(UInt32(clamping: Int64(pause / .microseconds(1))))
            if !options.endsWhenCurrent { try connection.waitForNotification(milliseconds: Self.pollMilliseconds) }
        }
    }

    private enum Outcome {
        case nothing
        case taken
        /// The source changes its tables.
        case later
    }

    /// The columns for which the model is right.
    private struct KnownColumns {
        var shape: String?
        /// The types of the tables' keys in SQL.
        var keyTypes: [UInt32: String] = [:]
    }

    /// The types of the tables' keys in SQL.
    private func keyTypes() throws -> [UInt32: String] {
        var types: [UInt32: String] = [:]
        for table in source.tables {
            types[table.number] = try connection.value(
                """
                SELECT pg_catalog.format_type(atttypid, -1) FROM pg_catalog.pg_attribute
                WHERE attrelid = $1::oid AND attname = $2 AND NOT attisdropped
                """, ["\(table.number)", table.key])
        }
        return types
    }

    /// Begins a transaction in which rows are read; nil while the source changes the tables.
    private func readChanges() throws -> ChangeReader? {
        do { return try ChangeReader(after: position?.text ?? "", source.tables, connection, locked: true) } catch {
            _ = try? connection.execute("ROLLBACK")
            guard let error = error as? SourceError else { throw error }
            // A lock that was not to be had in time, or only by a deadlock.
            if ["55P03", "40P01"].contains(error.code) { return nil }
            // A table that is not there, or under another name.
            if error.code == "42P01" { try checkSource() }
            throw error
        }
    }

    /// Brings the store to the source's present snapshot: rows that have changed are written as they are in it.
    /// O(k log n) for k of them.
    private func takeChanges(_ columns: inout KnownColumns) throws -> Outcome {
        let look = try ChangeReader(after: position?.text ?? "", source.tables, connection, locked: false)
        if look.noted.isEmpty {
            // What a crash may undo is not counted as seen, and not as copied.
            if !source.isConsistent { try look.waitUntilDurable(requireNotInterrupted) }
            if look.isDurable { position?.text = look.snapshot }
            hasReadChanges = true
            if !source.isConsistent { try storePosition() }
            return .nothing
        }
        if columns.shape != look.shape {
            // The model first.
            try checkSource()
            columns = KnownColumns(shape: look.shape, keyTypes: try keyTypes())
        }
        // First the store's lock, for which a job may be waited for; then the source's.
        let writer = try KeyedRowWriter(in: container, author: "postgres", waiting: waiting)
        guard let changes = try readChanges() else { return .later }
        guard changes.shape == columns.shape else {
            try changes.finish()
            return .later
        }
        try writer.beginNextCommit(author: "postgres \(changes.snapshot)")
        do {
            for index in source.copyOrder {
                if let noted = changes.noted[source.tables[index].number] {
                    try takeRows(of: index, changes, RowWriter(writer), columns.keyTypes, isEmptied: noted.isEmptied)
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
        hasReadChanges = true
        try commit(writer)
        tell(.transaction(changes.snapshot, counts, lag: max(0, Date().timeIntervalSince1970 - time)))
        return .taken
    }

    private func takeRows(
        of index: Int, _ changes: ChangeReader, _ rows: RowWriter, _ keyTypes: [UInt32: String],
        isEmptied: Bool
    ) throws {
        let table = source.tables[index]
        guard let type = keyTypes[table.number] else {
            throw SourceError(
                .lost, "\(table.title) has no column \(table.key) any more; --recopy copies all tables again")
        }
        // The changed key comes first, under no name.
        var reader = try RowReader(table, [""] + table.columns.map(\.name), of: source, in: rows.writer.model)
        var seen = SeenObjects()
        let writer = rows.writer
        var row = CopiedRow()
        try changes.forEachRow(of: table, keyType: type) { bytes in
            row.read(bytes)
            try reader.requireWidth(row.fields)
            try row.bytes.withUnsafeBytes { bytes in
                let noted = try reader.key(row.fields, bytes, at: 0)
                guard reader.hasKey(row.fields) else { return try writer.delete(key: noted, reader.table) }
                let key = try reader.key(row.fields, bytes)
                // Texts that the source takes for the same key are several here.
                if key != noted { try writer.delete(key: noted, reader.table) }
                try rows.insert(row.fields, bytes, of: table.number, &reader)
                if isEmptied, let number = try writer.object(reader.table, key: key) { seen.insert(number) }
            }
        }
        if isEmptied { try writer.deleteAll(of: reader.table) { !seen.contains($0) } }
    }
}
