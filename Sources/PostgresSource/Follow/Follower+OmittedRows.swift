internal import FetchIndex

// Rows with values that cannot be stored, or with keys that other sources have. They are left out of the store until
// they get other values, or until the other sources no longer have the keys.
extension Follower {
    private static let (mostOmittedRows, mostTold) = (1000, 10)

    /// Inserts a row, or updates the object with its key. If it can't be stored, leaves it out.
    func insert(
        _ row: [StreamedValue], _ bytes: UnsafeRawBufferPointer, _ reader: inout RowReader, of index: Int,
        _ writer: KeyedRowWriter
    ) throws {
        do {
            let keyed = try reader.row(row, bytes)
            try reader.writing(row, bytes) { try writer.insert(keyed, reader.table) }
            keep(reader.omittedKey(row, bytes), of: index)
        } catch let omitted as UnstorableRow {
            try writer.delete(key: reader.key(row, bytes), reader.table)
            try omit(omitted, of: index)
        }
    }

    /// Notes a row that is left out, and tells it. Throws `SourceError` if there are too many.
    func omit(_ row: UnstorableRow, of index: Int) throws {
        let table = source.tables[index]
        if table.omittedRows[row.key] == nil {
            guard table.omittedRows.count < Self.mostOmittedRows else {
                if row.isHeld { throw tooManyHeld(row) }
                throw SourceError(
                    .refused,
                    "\(row.reason), and \(Self.mostOmittedRows) other rows are left out already; if the source has changed them since, "
                        + "all tables must be copied again", remedy: remedy(of: table, row))
            }
            if table.omittedRows.count < Self.mostTold {
                let isLast = table.omittedRows.count == Self.mostTold - 1
                tell(
                    .warning(
                        "\(row.reason): the row is left out until "
                            + (row.isHeld ? "only this source has it" : "it has another value")
                            + (isLast ? "; further ones are not named here" : "")))
            }
        }
        source.tables[index].omittedRows[row.key] = FollowedSource.OmittedRow(
            column: row.column, reason: row.reason, isHeld: row.isHeld ? true : nil)
    }

    /// The error for one row too many whose key another source has. Many rows may move to this source at once, so a later
    /// attempt succeeds when the other source has given up the keys.
    private func tooManyHeld(_ row: UnstorableRow) -> SourceError {
        let reason = "\(row.reason), and \(Self.mostOmittedRows) other rows wait already"
        if options.endsWhenCurrent { return SourceError(.incomplete, reason, remedy: .deleteInOneSource) }
        return SourceError(.connection, "\(reason): this source waits until others have given up their keys")
    }

    /// Forgets that a row was left out. The key is made only if rows of the table are left out.
    func keep(_ key: @autoclosure () -> String, of index: Int) {
        if !source.tables[index].omittedRows.isEmpty { source.tables[index].omittedRows[key()] = nil }
    }

    /// Throws `SourceError` if rows are left out, for a job that ends when the store is current.
    func requireAllRows() throws {
        let omitted = source.tables.flatMap { table in table.omittedRows.map { (table, $0.key, $0.value) } }
        guard let (table, key, row) = omitted.min(by: { $0.2.reason < $1.2.reason }) else { return }
        let others = omitted.count - 1
        let rest =
            others == 0 ? "" : others == 1 ? ", and 1 other row is left out" : ", and \(others) other rows are left out"
        throw SourceError(
            .incomplete, row.reason + rest,
            remedy: remedy(
                of: table,
                UnstorableRow(key: key, reason: row.reason, column: row.column, isHeld: row.isHeld ?? false)))
    }

    private func remedy(of table: FollowedSource.Table, _ row: UnstorableRow) -> SourceRemedy? {
        if row.isHeld { return .deleteInOneSource }
        // A value that is too long must be changed in the source.
        if table.otherKeys.contains(where: { $0.joined(separator: ", ") == row.column }) { return nil }
        let columns = table.omittedRows.values.map(\.column) + [row.column] + table.asText
        return .changeValue(entity: table.entity, columns: Set(columns).sorted())
    }

    // MARK: Keys of other sources

    /// Writes the rows that waited for their keys, if other sources no longer have these. Returns whether there were any.
    /// They are read from the source's tables, so they may be newer than the position.
    @discardableResult func takeFreedRows() throws -> Bool {
        let isWaiting = source.tables.contains { $0.omittedRows.values.contains { $0.isHeld == true } }
        guard isWaiting, source.isCopied else { return false }
        let writer = try beginWriting()
        var freed: [(index: Int, key: [String])] = []
        for index in source.tables.indices {
            let reader = try self.reader(of: source.tables[index], in: writer.model)
            for (key, row) in source.tables[index].omittedRows where row.isHeld == true {
                let texts = UnstorableRow.texts(of: key)
                if let values = reader.key(ofTexts: texts), try writer.holder(ofKey: values, reader.table) == nil {
                    freed.append((index, texts))
                }
            }
        }
        if freed.isEmpty { return false }
        try waitUntilVisible(atMost: .seconds(1))
        for (index, key) in freed {
            source.tables[index].omittedRows[UnstorableRow.key(key)] = nil
            try read(key, of: index, writer)
        }
        try linkLater(writer)
        let counts = writer.counts
        if case .reading = phase { phase = .reading(isPastCopies: false) }
        source.consistentFrom = try source.way == .stream ? endOfLog().description : position?.text
        try commit(writer)
        tell(.transaction(position?.text ?? "", counts, lag: 0))
        return true
    }
}
