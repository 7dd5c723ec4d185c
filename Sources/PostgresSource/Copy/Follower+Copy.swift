internal import FetchIndex

// Copies of tables.
extension Follower {
    /// Copies the tables that may be copied now, in `copyOrder`.
    func copyTables() throws {
        for index in source.copyOrder where mayCopy(index) { try copy(index) }
    }

    /// Copies each table whose copy is due, if the stream has passed the table's change.
    func copyWhatIsDue() throws { if !source.isCopied { try copyTables() } }

    private func mayCopy(_ index: Int) -> Bool {
        guard case .due(_, let after) = source.tables[index].copy else { return false }
        guard let after, let reached else { return true }
        return reached >= after
    }

    private func copy(_ index: Int) throws {
        let start = ContinuousClock.now
        if source.way == .stream { try waitForEarlierTransactions() }
        try waitUntilVisible()
        try adoptCatalogue(index)
        guard mayCopy(index) else { return }
        source.tables[index].copy.wait(after: nil)
        let title = source.tables[index].title
        tell(.copying(table: title, rows: 0))
        do { try copyRows(index, since: start) } catch let error as SourceError
            where ["42703", "42P01"].contains(error.code)
        {
            // A column or the table was dropped or renamed.
            throw SourceError(.connection, "\(title) was changed while it was copied")
        }
    }

    private func copyRows(_ index: Int, since start: ContinuousClock.Instant) throws {
        let table = source.tables[index]
        var seen = SeenObjects()
        var (counts, rowCount) = (BatchWriter.Counts(), 0)
        // A copy that begins with the first row finds these rows again.
        if table.copy.key == nil { source.tables[index].omittedRows = [:] }
        let snapshot = try table.wholeRow == nil ? nil : beginSnapshot()
        defer { if snapshot != nil { _ = try? connection.execute("ROLLBACK") } }
        let copy = TableCopy(
            container: container, connection: connection, source: source, table: table,
            rangeLength: options.rangeLength, threads: options.threads, author: author("copy"), others: others,
            group: group,
            replaced: replaced)
        try copy.run(
            seen: { number in
                rowCount += 1
                if table.copy.replaces { seen.insert(number) }
            },
            omit: { try omit($0, of: index) },
            commit: { writer, end, isLast in
                try requireNotInterrupted()
                if isLast {
                    if snapshot != nil { try connection.execute("COMMIT") }
                    source.tables[index].snapshot = snapshot
                    try finishCopy(index, writer, seen)
                } else {
                    source.tables[index].copy.advance(through: end)
                }
                counts = counts + writer.counts
                try commit(writer) {
                    tell(.copying(table: table.title, rows: rowCount))
                    let seconds = (ContinuousClock.now - start) / .seconds(1)
                    if isLast { tell(.copied(table: table.title, counts, seconds: seconds)) }
                }
                container.releasePages()
                status.write(.copying, self)
            })
    }

    /// Ends a copy in the transaction of its last range. Notes the position at which the store becomes consistent: if
    /// the store follows the source's log, the current end of the log. After a copy over older rows, deletes the rows
    /// that the table no longer has. If the table was changed meanwhile, only makes another copy due.
    private func finishCopy(_ index: Int, _ writer: KeyedRowWriter, _ seen: SeenObjects) throws {
        if case .reading = phase { phase = .reading(isPastCopies: false) }
        guard try isUnchanged(index) else {
            // Some rows may have been read under other column names: columns may have exchanged their names, and
            // exchanged them back.
            source.tables[index].copy.requireCopy()
            if source.way == .stream { source.tables[index].copy.wait(after: try endOfLog()) }
            return
        }
        // With a change table, the store becomes consistent only after the change table was read once more.
        let end = try source.way == .stream ? endOfLog().description : position?.text
        if source.tables[index].copy.replaces {
            let reader = try self.reader(of: source.tables[index], in: writer.model)
            try writer.deleteAll(of: reader.table) { !seen.contains($0) }
        }
        source.tables[index].copy = .copied
        hasUnlinkedCopies = true
        source.consistentFrom = end
    }
}
