internal import FetchIndex
internal import FetchIndexEssentials
internal import FetchIndexModels
internal import FetchIndexValues

/// A table as the stream has described it last.
struct FollowedTable {
    let description: StreamedTable
    /// Among the source's tables.
    let index: Int
    var reader: RowReader
}

// Transactions of the stream.
extension Follower {
    /// Writes transactions of the source, each as a commit of the store. Those that came together reach the disk together: the waiting
    /// for it, and the pages that they share, are paid once. O(k log n) for k rows.
    func apply(_ transactions: [StreamedTransaction]) throws {
        var waiting: [StreamedTransaction] = []
        for transaction in transactions {
            // Changed tables change the model, which is a transaction of its own, made before, so that all rows fit.
            let changed = try changedTables(in: transaction)
            if !changed.isEmpty {
                try write(waiting)
                waiting = []
                for table in changed {
                    if let index = try index(of: table) { try followChanges(ofTable: index, table) }
                }
            }
            waiting.append(transaction)
        }
        try write(waiting)
    }

    private func changedTables(in transaction: StreamedTransaction) throws -> [StreamedTable] {
        var tables: [StreamedTable] = []
        try transaction.messages.forEach { bytes in
            guard bytes.first == UInt8(ascii: "R") else { return }
            if case .table(let table) = try StreamMessage(bytes.bytes) { tables.append(table) }
        }
        return try tables.filter { try !isFollowed($0) }
    }

    private func write(_ transactions: [StreamedTransaction]) throws {
        guard let first = transactions.first else { return }
        let writer = try KeyedRowWriter(in: container, author: Self.author(of: first), waiting: waiting)
        if writer.modelVersion != modelVersion {
            for table in streamed.values.map(\.description) { try note(table, in: writer.model) }
            modelVersion = writer.modelVersion
        }
        let rows = RowWriter(writer, isCatchingUp: !source.isConsistent)
        var events: [FollowEvent] = []
        for (index, transaction) in transactions.enumerated() {
            if index > 0 { try writer.beginNextCommit(author: Self.author(of: transaction)) }
            let before = writer.counts
            lastTransactions.insert(transaction.number)
            try transaction.messages.forEach { bytes in try apply(try StreamMessage(bytes.bytes), bytes, rows) }
            try readIncomplete(rows)
            try linkLater(writer)
            position = SourcePosition(text: transaction.next.description, time: transaction.time)
            events.append(
                .transaction(transaction.next.description, writer.counts - before, lag: transaction.time))
        }
        try commit(writer)
        if lastTransactions.count > Self.mostInvisible { try forgetVisible() }
        let now = Date().timeIntervalSince1970
        for case .transaction(let position, let counts, let time) in events {
            tell(.transaction(position, counts, lag: max(0, now - time)))
        }
    }

    /// Links what the rows of a commit refer to.
    func linkLater(_ writer: KeyedRowWriter) throws {
        var known: [Int: RowTable] = [:]
        for table in streamed.values.map(\.reader.table) { known[table.entityNumber] = table }
        let model = writer.model
        try writer.linkLater { number in
            if let table = known[number] { return table }
            guard let followed = source.tables.first(where: { $0.entity == model.entities[number].name }) else {
                return nil
            }
            let table = try reader(of: followed, in: model).table
            known[number] = table
            return table
        }
    }

    /// A reader of rows that have the followed columns of a table.
    func reader(of table: FollowedSource.Table, in model: Model) throws -> RowReader {
        try RowReader(table, table.columns.map(\.name), of: source, in: model)
    }

    private static func author(of transaction: StreamedTransaction) -> String { "postgres \(transaction.end)" }

    private func apply(_ message: StreamMessage, _ bytes: UnsafeRawBufferPointer, _ rows: RowWriter) throws {
        switch message {
        case .table(let table): try note(table, in: rows.writer.model)
        case .insert(let table, let row):
            try withReader(of: table, row) { try rows.insert(row, bytes, of: table, &$0) }
        case .update(let table, let old, let row):
            try withReader(of: table, row) { reader in
                if let old { try reader.requireWidth(old) }
                try rows.update(old, row, bytes, of: table, &reader)
            }
        case .delete(let table, let old):
            try withReader(of: table, old) { try rows.delete(old, bytes, $0) }
        case .truncate(let tables):
            for table in tables {
                if let found = streamed[table] { try rows.writer.deleteAll(of: found.reader.table) { _ in true } }
            }
        case .other: break
        case .begin, .commit: throw StreamMessage.Malformed("a transaction begins or ends within another one")
        }
    }

    private func withReader(
        of table: UInt32, _ row: [StreamedValue], _ body: (inout RowReader) throws -> Void
    ) throws {
        if others.contains(table) { return }
        // Taken out: a copy would copy what it builds records with.
        guard var found = streamed.removeValue(forKey: table) else {
            throw StreamMessage.Malformed("a row is of the unknown table \(table)")
        }
        defer { streamed[table] = found }
        try found.reader.requireWidth(row)
        do { try body(&found.reader) } catch let error as SourceError {
            // An older value than the column's type, in a table that is copied as soon as the stream is past the change.
            let table = source.tables[found.index]
            guard error.kind == .refused, !table.isCopied, table.changedUntil != nil else { throw error }
        }
    }

    /// The index of the followed table that the stream describes. Nil: a publication of others has more tables.
    func index(of table: StreamedTable) throws -> Int? {
        if let index = source.tables.firstIndex(where: { $0.number == table.number }) { return index }
        guard source.ownsPublication else { return nil }
        throw SourceError(
            .lost,
            "the source sends rows of \(table.schema).\(table.name), which is another table than the one that was copied; --recopy "
                + "copies all tables again")
    }

    private func note(_ table: StreamedTable, in model: Model) throws {
        guard let index = try index(of: table) else { return others.formUnion([table.number]) }
        others.remove(table.number)
        let reader = try RowReader(source.tables[index], table.columns.map(\.name), of: source, in: model)
        streamed[table.number] = FollowedTable(description: table, index: index, reader: reader)
    }

    /// Reads rows of which values were not sent, and that were not copied, as they are now. They are newer than the transaction, so the
    /// store is consistent only when the stream has come so far.
    private func readIncomplete(_ rows: RowWriter) throws {
        let incomplete = rows.takeIncomplete()
        if incomplete.isEmpty { return }
        rows.isCatchingUp = true
        try waitUntilVisible(atMost: .seconds(1))
        for (number, key) in incomplete {
            guard let index = streamed[number]?.index else { continue }
            let table = source.tables[index]
            var reader = try self.reader(of: table, in: rows.writer.model)
            var row = CopiedRow()
            do {
                try connection.copyOut(TableCopy.command(table, ofRow: key)) { bytes in
                    row.read(bytes)
                    try reader.requireWidth(row.fields)
                    try row.bytes.withUnsafeBytes { try rows.insert(row.fields, $0, of: number, &reader) }
                }
            } catch let error as SourceError where error.code == "42703" {
                // A column is gone by now.
                source.tables[index].requireCopy()
                copyIsDue = true
            }
        }
        source.consistentFrom = try endOfLog().description
    }
}
