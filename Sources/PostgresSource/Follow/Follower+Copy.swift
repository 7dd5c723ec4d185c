internal import FetchIndex
internal import FetchIndexCLibrary
internal import FetchIndexModels

// Copies of tables.
extension Follower {
    func copyTables() throws {
        for index in source.copyOrder where mayCopy(index) { try copy(index) }
        copyIsDue = source.tables.contains { !$0.isCopied }
    }

    /// Copies tables that changed, as soon as the stream is past their changes.
    func copyWhatIsDue() throws {
        guard copyIsDue, source.tables.indices.contains(where: mayCopy) else { return }
        try copyTables()
    }

    /// More do not wait at a time.
    static let mostInvisible = 10_000

    /// A transaction that waits for a standby is sent before it can be seen: what is read now must not be older than what came.
    /// Gives up after a time, for those who hold the store's lock.
    func waitUntilVisible(atMost longest: Duration? = nil) throws {
        let end = longest.map { ContinuousClock.now + $0 }
        while true {
            try forgetVisible()
            if lastTransactions.isEmpty { return }
            try requireNotInterrupted()
            if let end, ContinuousClock.now >= end {
                throw SourceError(
                    .connection, "a transaction of the source waits for a standby, and its rows cannot be read yet")
            }
            usleep(20_000)
        }
    }

    func forgetVisible() throws {
        if lastTransactions.isEmpty { return }
        let snapshot = try connection.execute(
            """
            SELECT pg_catalog.pg_snapshot_xmax(s), (SELECT pg_catalog.string_agg(x::text, ' ') FROM pg_catalog.pg_snapshot_xip(s) x)
            FROM pg_catalog.pg_current_snapshot() s
            """, columns: 2
        ).first
        // Numbers of transactions are sent without their upper half.
        func number(_ text: some StringProtocol) -> UInt32? { UInt64(text).map { UInt32(truncatingIfNeeded: $0) } }
        guard let end = snapshot?[0].flatMap({ number($0) }) else { return }
        let open = Set((snapshot?[1] ?? "").split(separator: " ").compactMap { number($0) })
        lastTransactions = lastTransactions.filter { open.contains($0) || Int32(bitPattern: $0 &- end) >= 0 }
    }

    private func mayCopy(_ index: Int) -> Bool {
        if source.tables[index].isCopied { return false }
        guard let changed = source.tables[index].changedUntil.flatMap({ LogPosition($0) }) else { return true }
        return position.flatMap { LogPosition($0.text) }.map { $0 >= changed } ?? true
    }

    private func copy(_ index: Int) throws {
        let start = ContinuousClock.now
        // Which objects were seen is known only to the process that copies.
        if source.tables[index].replaces { source.tables[index].copiedThrough = nil }
        if source.way == .stream, !hasWaitedForOpen {
            try waitForOpenTransactions()
            hasWaitedForOpen = true
        }
        try waitUntilVisible()
        try adoptCatalogue(index)
        guard mayCopy(index) else { return }
        source.tables[index].changedUntil = nil
        let table = source.tables[index]
        let title = table.title
        var seen = SeenObjects()
        var (counts, rowCount) = (BatchWriter.Counts(), 0)
        let copy = TableCopy(
            container: container, connection: connection, source: source, table: table,
            rangeLength: options.rangeLength,
            threads: options.threads, waiting: waiting)
        tell(.copying(table: title, rows: 0))
        do {
            try copy.run(
                seen: { number in
                    rowCount += 1
                    if table.replaces { seen.insert(number) }
                },
                commit: { writer, end, isLast in
                    try requireNotInterrupted()
                    if isLast { try finishCopy(index, writer, seen) } else { source.tables[index].copiedThrough = end }
                    counts = counts + writer.counts
                    try commit(writer) {
                        tell(.copying(table: title, rows: rowCount))
                        let seconds = (ContinuousClock.now - start) / .seconds(1)
                        if isLast { tell(.copied(table: title, counts, seconds: seconds)) }
                    }
                    container.releasePages()
                    status.write(.copying, self)
                })
        } catch let error as SourceError where ["42703", "42P01"].contains(error.code) {
            // A column, or the table, is not there any more, or has another name.
            throw SourceError(.connection, "\(title) was changed while it was copied")
        }
    }

    /// The last range: rows that are gone are deleted, and the store is consistent when the stream has come to now.
    private func finishCopy(_ index: Int, _ writer: KeyedRowWriter, _ seen: SeenObjects) throws {
        hasReadChanges = false
        guard try isUnchanged(index) else {
            // Some rows may have been read under other names: columns that changed places, and changed back.
            source.tables[index].requireCopy()
            if source.way == .stream { source.tables[index].changedUntil = try endOfLog().description }
            return
        }
        // With a change table, the store is consistent when it has been read once more.
        let end = try source.way == .stream ? endOfLog().description : position?.text
        if source.tables[index].replaces {
            let reader = try self.reader(of: source.tables[index], in: writer.model)
            try writer.deleteAll(of: reader.table) { !seen.contains($0) }
        }
        source.tables[index].isCopied = true
        source.tables[index].copiedThrough = nil
        source.tables[index].replaces = false
        source.consistentFrom = end
    }
}
