internal import FetchIndex
internal import Models
internal import OrderCaches
internal import Records
internal import SystemBasics

// Copies of tables.
extension Follower {
    func copyTables() throws {
        guard source.tables.contains(where: { !$0.isCopied }) else { return }
        for index in source.copyOrder where !source.tables[index].isCopied { try copy(index) }
    }

    private func copy(_ index: Int) throws {
        let start = ContinuousClock.now
        // Which objects were seen is known only to the process that copies.
        if source.tables[index].replaces { source.tables[index].copiedThrough = nil }
        try adoptCatalogue(index)
        let table = source.tables[index]
        let title = table.title
        var seen = ObjectNumbers()
        var (counts, rowCount) = (RowCounts(), 0)
        let copy = TableCopy(
            container: container, connection: connection, source: source, table: table,
            rangeLength: options.rangeLength,
            threads: options.threads, waiting: waiting)
        tell(.copying(table: title, rows: 0))
        try copy.run(
            seen: { number in
                rowCount += 1
                if table.replaces { seen.insert(number) }
            },
            commit: { rows, end, isLast in
                try requireNotInterrupted()
                if isLast { try finishCopy(index, rows, seen) } else { source.tables[index].copiedThrough = end }
                try commit(rows)
                container.store.releasePages()
                counts.add(rows.counts)
                tell(.copying(table: title, rows: rowCount))
                status.write(.copying, self)
            })
        tell(.copied(table: title, counts, seconds: (ContinuousClock.now - start) / .seconds(1)))
    }

    /// The last range: rows that are gone are deleted, and the store is consistent when the stream has come to now.
    private func finishCopy(_ index: Int, _ rows: RowWriter, _ seen: ObjectNumbers) throws {
        hasReadChanges = false
        // With a change table, the store is consistent when it has been read once more.
        let end = try source.way == .stream ? endOfLog().description : position?.text
        if source.tables[index].replaces {
            let reader = try RowReader(
                source.tables[index], source.tables[index].columns.map(\.name), of: source, in: rows.writer.model)
            try rows.deleteAll(of: reader) { !seen.contains($0) }
        }
        source.tables[index].isCopied = true
        source.tables[index].copiedThrough = nil
        source.tables[index].replaces = false
        source.consistentFrom = end
    }
}
