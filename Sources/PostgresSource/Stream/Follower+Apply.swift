internal import FetchIndex
internal import FetchIndexEssentials
internal import FetchIndexModels
internal import FetchIndexValues

// Applying transactions of the stream to the store.
extension Follower {
    /// Writes transactions of the source, each as a commit of the store if it changes records. Group commit: all are
    /// written in one transaction of the store, unless a table's change must be adopted in between. So a page that
    /// several of them change is usually written once.
    func apply(_ transactions: [StreamedTransaction], _ session: StreamSession) throws {
        var waiting: [StreamedTransaction] = []
        for transaction in transactions {
            // A changed table changes the model, in a transaction of its own, before the rows that need the new model.
            let changed = try changedTables(in: transaction)
            if !changed.isEmpty {
                try write(waiting, session)
                waiting = []
                for table in changed {
                    if let index = index(of: table) { try followChanges(ofTable: index, table) }
                }
            }
            waiting.append(transaction)
        }
        try write(waiting, session)
    }

    private func changedTables(in transaction: StreamedTransaction) throws -> [StreamedTable] {
        var tables: [StreamedTable] = []
        try transaction.messages.forEach { bytes in
            guard bytes.first == UInt8(ascii: "R") else { return }
            if case .table(let table) = try StreamMessage(bytes.bytes) { tables.append(table) }
        }
        return try tables.filter { try !isFollowed($0) }
    }

    /// Whether a table, as the stream describes it, needs no change in the store; true for tables that aren't followed.
    /// Details that the description lacks are read from the catalogue, which is affordable because the stream describes
    /// tables rarely.
    private func isFollowed(_ streamed: StreamedTable) throws -> Bool {
        guard let index = index(of: streamed) else { return true }
        guard streamed.sendsKey(source.tables[index].identity) else { return false }
        return try relevantChange(of: index, streamed) == nil
    }

    private func write(_ transactions: [StreamedTransaction], _ session: StreamSession) throws {
        guard let first = transactions.first else { return }
        let writer = try beginWriting(author: author(of: first))
        if writer.modelVersion != session.modelVersion {
            for table in session.tables.values.map(\.description) { try note(table, in: writer.model, session) }
            session.modelVersion = writer.modelVersion
        }
        var written: [(transaction: StreamedTransaction, counts: BatchWriter.Counts)] = []
        for (index, transaction) in transactions.enumerated() {
            if index > 0 { try writer.beginNextCommit(author: author(of: transaction)) }
            let before = writer.counts
            try write(transaction, writer, session)
            written.append((transaction, writer.counts - before))
        }
        try commit(writer)
        if unseen.numbers.count > UnseenTransactions.mostNumbers { try forgetVisible() }
        let now = Date().timeIntervalSince1970
        for (transaction, counts) in written {
            tell(.transaction(transaction.next.description, counts, lag: max(0, now - transaction.time)))
        }
    }

    private func write(_ transaction: StreamedTransaction, _ writer: KeyedRowWriter, _ session: StreamSession) throws {
        unseen.insert(transaction.number)
        session.transaction = transaction.number
        try transaction.messages.forEach { bytes in
            try apply(try StreamMessage(bytes.bytes), bytes, writer, session)
        }
        try readIncomplete(writer, session)
        try linkLater(writer)
        position = SourcePosition(text: transaction.next.description, time: transaction.time)
    }

    private func author(of transaction: StreamedTransaction) -> String { author("\(transaction.end)") }

    // MARK: One message

    private func apply(
        _ message: StreamMessage, _ bytes: UnsafeRawBufferPointer, _ writer: KeyedRowWriter, _ session: StreamSession
    ) throws {
        switch message {
        case .table(let table): try note(table, in: writer.model, session)
        case .insert(let table, let row): try applyInsertion(of: row, in: table, bytes, writer, session)
        case .update(let table, let old, let row): try applyUpdate(of: old, to: row, in: table, bytes, writer, session)
        case .delete(let table, let old): try applyDeletion(of: old, in: table, bytes, writer, session)
        case .truncate(let tables): try applyTruncation(of: tables, writer, session)
        case .other: break
        case .begin, .commit: throw StreamMessage.Malformed("a transaction begins or ends within another one")
        }
    }

    private func applyInsertion(
        of row: [StreamedValue], in table: UInt32, _ bytes: UnsafeRawBufferPointer, _ writer: KeyedRowWriter,
        _ session: StreamSession
    ) throws {
        try withReader(of: table, row, session) { reader, index in
            // If an update makes a row meet the condition, the row is sent as an insertion, without large values that
            // the update left unchanged.
            if reader.isWholeRow {
                try change(row, bytes, by: 1, &reader, of: index, writer)
            } else if row.contains(.unchanged) {
                session.incomplete.append((table, reader.keyTexts(row, bytes)))
            } else {
                try insert(row, bytes, &reader, of: index, writer)
            }
        }
    }

    private func applyUpdate(
        of old: [StreamedValue]?, to row: [StreamedValue], in table: UInt32, _ bytes: UnsafeRawBufferPointer,
        _ writer: KeyedRowWriter, _ session: StreamSession
    ) throws {
        try withReader(of: table, row, session) { reader, index in
            if let old { try reader.requireWidth(old) }
            if reader.isWholeRow {
                return try replaceWholeRow(old, by: row, bytes, &reader, of: index, writer)
            }
            if let old { keep(reader.omittedKey(old, bytes), of: index) }
            do {
                let new = try reader.row(row, bytes)
                // If the source sends no old key, the key hasn't changed.
                let oldKey = try old.map { try reader.key($0, bytes) } ?? new.key
                // While the store isn't consistent, stored rows may be newer than the streamed ones.
                let isWritten = try reader.writing(row, bytes) {
                    try writer.update(new, oldKey: oldKey, isCatchingUp: !source.isConsistent, reader.table)
                }
                keep(reader.omittedKey(row, bytes), of: index)
                if !isWritten { session.incomplete.append((table, reader.keyTexts(row, bytes))) }
            } catch let omitted as UnstorableRow {
                if let old { try writer.delete(key: reader.key(old, bytes), reader.table) }
                try writer.delete(key: reader.key(row, bytes), reader.table)
                try omit(omitted, of: index)
            }
        }
    }

    /// Applies an update in a table without a key: one row less that equals the old row, and one more that equals the new
    /// one.
    private func replaceWholeRow(
        _ old: [StreamedValue]?, by row: [StreamedValue], _ bytes: UnsafeRawBufferPointer, _ reader: inout RowReader,
        of index: Int, _ writer: KeyedRowWriter
    ) throws {
        guard let old else {
            throw StreamMessage.Malformed("a row was updated whose old values weren't sent")
        }
        // Large values that weren't changed are sent with the old row.
        let new = zip(row, old).map { $0 == .unchanged ? $1 : $0 }
        try change(old, bytes, by: -1, &reader, of: index, writer)
        try change(new, bytes, by: 1, &reader, of: index, writer)
    }

    private func applyDeletion(
        of old: [StreamedValue], in table: UInt32, _ bytes: UnsafeRawBufferPointer, _ writer: KeyedRowWriter,
        _ session: StreamSession
    ) throws {
        try withReader(of: table, old, session) { reader, index in
            if reader.isWholeRow {
                return try change(old, bytes, by: -1, &reader, of: index, writer)
            }
            keep(reader.omittedKey(old, bytes), of: index)
            try writer.delete(key: reader.key(old, bytes), reader.table)
        }
    }

    private func applyTruncation(of tables: [UInt32], _ writer: KeyedRowWriter, _ session: StreamSession) throws {
        for table in tables {
            guard let found = session.tables[table],
                !found.reader.isWholeRow || !isCopied(session.transaction, of: found.index)
            else { continue }
            source.tables[found.index].omittedRows = [:]
            try writer.deleteAll(of: found.reader.table) { _ in true }
        }
    }

    private func withReader(
        of table: UInt32, _ row: [StreamedValue], _ session: StreamSession,
        _ body: (inout RowReader, _ index: Int) throws -> Void
    ) throws {
        if let name = session.others[table] {
            guard source.ownsPublication, source.formerTables?.contains(table) != true else { return }
            throw SourceError(
                .lost, "the source sends rows of \(name), which is not one of the tables that were copied")
        }
        // The reader is taken out of the dictionary, because a copy of it would copy the buffer that it builds records
        // in.
        guard var found = session.tables.removeValue(forKey: table) else {
            throw StreamMessage.Malformed("a row is of the unknown table \(table)")
        }
        defer { session.tables[table] = found }
        if found.reader.isWholeRow, isCopied(session.transaction, of: found.index) { return }
        try found.reader.requireWidth(row)
        do { try body(&found.reader, found.index) } catch let error as SourceError {
            // The row may be from before a change of the column's type, or of the key; the row is left out, because the
            // table is copied after the stream has passed the change.
            let isOld = error.kind == .refused || error.kind == .lost
            guard isOld, source.tables[found.index].copy.after != nil else { throw error }
        }
    }

    /// The index of the followed table that the stream describes; nil for another table of a given publication, and for a
    /// partition, whose rows are sent under the partitioned table's name.
    private func index(of table: StreamedTable) -> Int? {
        source.tables.firstIndex { $0.number == table.number }
    }

    private func note(_ table: StreamedTable, in model: Model, _ session: StreamSession) throws {
        guard let index = index(of: table) else {
            session.others[table.number] = "\(table.schema).\(table.name)"
            return
        }
        session.others[table.number] = nil
        let reader = try RowReader(
            source.tables[index], table.columns.map(\.name), of: source, besides: others, replaced, in: model)
        session.tables[table.number] = StreamSession.Table(description: table, index: index, reader: reader)
    }

    // MARK: Incomplete rows

    /// Reads from the source the rows that the stream has sent only in part and that weren't written. These rows may be
    /// newer than the transaction, so the store is consistent again only at the current end of the source's log.
    private func readIncomplete(_ writer: KeyedRowWriter, _ session: StreamSession) throws {
        if session.incomplete.isEmpty { return }
        let incomplete = session.incomplete
        session.incomplete = []
        try waitUntilVisible(atMost: .seconds(1))
        for (number, key) in incomplete {
            guard let index = session.tables[number]?.index else { continue }
            do { try read(key, of: index, writer) } catch let error as SourceError where error.code == "42703" {
                // A column was dropped or renamed meanwhile.
                source.tables[index].copy.requireCopy()
            }
        }
        source.consistentFrom = try endOfLog().description
    }

    /// Reads the row with a key from the source, and writes it.
    func read(_ key: [String], of index: Int, _ writer: KeyedRowWriter) throws {
        let table = source.tables[index]
        var reader = try self.reader(of: table, in: writer.model)
        var row = CopiedRow()
        try connection.copyOut(TableCopy.command(table, ofRow: key)) { bytes in
            row.read(bytes)
            try reader.requireWidth(row.fields)
            try row.bytes.withUnsafeBytes { try insert(row.fields, $0, &reader, of: index, writer) }
        }
    }
}
