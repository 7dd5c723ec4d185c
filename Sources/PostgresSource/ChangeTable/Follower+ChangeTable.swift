internal import FetchIndex
internal import Models
internal import OrderCaches
internal import Records
internal import SystemBasics

// Following by the change table.
extension Follower {
    private static let pollMilliseconds: Int32 = 1000
    private static let checkInterval = Duration.seconds(10)

    /// The SQL that a source needs to be followed by the change table. Throws `SourceError`.
    package static func setup(_ address: String, _ choices: [TableChoice]) throws -> String {
        try SourceAddress.check(address)
        let connection = try Connection(address)
        return ChangeTable.setup(for: try choices.map { try SourceTable($0, connection, .changeTable) })
    }

    /// Takes the position from which on changes are read, before anything is copied.
    func prepareChangeTable() throws {
        guard position == nil else { return }
        for index in source.tables.indices { try adoptCatalogue(index) }
        source.mark = try sourceMark()
        position = SourcePosition(
            text: try connection.value("SELECT pg_catalog.pg_current_snapshot()") ?? "", time: 0)
        let writer = try container.store.beginWrite(author: "postgres", changesRecords: false)
        try commit(RowWriter(writer))
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
            if try takeChanges(&columns) {
                lastStored = .now
            } else if ContinuousClock.now - lastStored > Self.checkInterval {
                try storePosition()
                lastStored = .now
            }
            status.write(.streaming, self)
            if options.endsWhenCurrent, source.isConsistent {
                try checkSource()
                if source.isConsistent { return try storePosition() }
            }
            // A source with much to read is not asked all the time.
            let pause = max(Duration.milliseconds(2), ContinuousClock.now - start)
            usleep(UInt32(clamping: Int64(pause / .microseconds(1))))
            if !options.endsWhenCurrent { try connection.waitForNotification(milliseconds: Self.pollMilliseconds) }
        }
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

    /// Begins to read what the change table has.
    private func readChanges() throws -> ChangeReader {
        do { return try ChangeReader(after: position?.text ?? "", source.tables, connection) } catch {
            _ = try? connection.execute("ROLLBACK")
            // A table that is not there, or under another name.
            if let error = error as? SourceError, error.code == "42P01" { try checkSource() }
            throw error
        }
    }

    /// Brings the store to the source's present snapshot: rows that have changed are written as they are in it. False when none has.
    /// O(k log n) for k of them.
    private func takeChanges(_ columns: inout KnownColumns) throws -> Bool {
        let changes = try readChanges()
        guard let time = changes.time else {
            try changes.end()
            position?.text = changes.snapshot
            hasReadChanges = true
            if !source.isConsistent { try storePosition() }
            return false
        }
        if columns.shape != changes.shape {
            try changes.end()
            // The model first. What has changed since this snapshot, the next one shows.
            try checkSource()
            columns = KnownColumns(shape: changes.shape, keyTypes: try keyTypes())
            return try takeChanges(&columns)
        }
        let rows = RowWriter(
            try container.store.beginWrite(author: "postgres \(changes.snapshot)"), waiting: waiting)
        do {
            let emptied = try changes.emptiedTables()
            for index in source.copyOrder { try takeRows(of: index, changes, rows, columns.keyTypes, emptied) }
            try rows.linkLater { try reader(ofEntity: $0, in: rows.writer.model) }
            try changes.end()
        } catch {
            _ = try? connection.execute("ROLLBACK")
            throw error
        }
        position = SourcePosition(text: changes.snapshot, time: time)
        let counts = rows.counts
        hasReadChanges = true
        try commit(rows)
        tell(.transaction(changes.snapshot, counts, lag: max(0, currentTime() - time)))
        return true
    }

    private func takeRows(
        of index: Int, _ changes: ChangeReader, _ rows: RowWriter, _ keyTypes: [UInt32: String], _ emptied: Set<UInt32>
    ) throws {
        let table = source.tables[index]
        guard let type = keyTypes[table.number] else {
            throw SourceError(
                .lost, "\(table.title) has no column \(table.key) any more; --recopy copies all tables again")
        }
        // The changed key comes first, under no name.
        var reader = try RowReader(table, [""] + table.columns.map(\.name), of: source, in: rows.writer.model)
        let isEmptied = emptied.contains(table.number)
        var seen = ObjectNumbers()
        var row = CopiedRow()
        try changes.forEachRow(of: table, keyType: type) { bytes in
            row.read(bytes)
            try reader.requireWidth(row.fields)
            try row.bytes.withUnsafeBytes { bytes in
                let noted = try reader.key(row.fields, bytes, at: 0)
                guard reader.hasKey(row.fields) else { return try rows.delete(key: noted, reader) }
                let key = try reader.key(row.fields, bytes)
                // Texts that the source takes for the same key are several here.
                if key != noted { try rows.delete(key: noted, reader) }
                try rows.insert(row.fields, bytes, of: table.number, &reader)
                if isEmptied, let object = try rows.object(reader, key) { seen.insert(object.number) }
            }
        }
        if isEmptied { try rows.deleteAll(of: reader) { !seen.contains($0) } }
    }
}
