internal import FetchIndex

// Rows with values that cannot be stored. They are left out of the store until they get other values.
extension Follower {
    private static let (mostOmittedRows, mostTold) = (1000, 10)

    /// Inserts a row, or updates the object with its key. If it can't be stored, leaves it out.
    func insert(
        _ row: [StreamedValue], _ bytes: UnsafeRawBufferPointer, _ reader: inout RowReader, of index: Int,
        _ writer: KeyedRowWriter
    ) throws {
        do {
            try writer.insert(reader.row(row, bytes), reader.table)
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
                throw SourceError(
                    .refused,
                    "\(row.reason), and so are values of \(Self.mostOmittedRows) other rows; if the source has changed them since, all "
                        + "tables must be copied again", remedy: remedy(of: table, row.column))
            }
            if table.omittedRows.count < Self.mostTold {
                let isLast = table.omittedRows.count == Self.mostTold - 1
                tell(
                    .warning(
                        "\(row.reason): the row is left out until it has another value"
                            + (isLast ? "; further ones are not named here" : "")))
            }
        }
        source.tables[index].omittedRows[row.key] = FollowedSource.OmittedRow(column: row.column, reason: row.reason)
    }

    /// Forgets that a row was left out. The key is made only if rows of the table are left out.
    func keep(_ key: @autoclosure () -> String, of index: Int) {
        if !source.tables[index].omittedRows.isEmpty { source.tables[index].omittedRows[key()] = nil }
    }

    /// Throws `SourceError` if rows are left out, for a job that ends when the store is current.
    func requireAllRows() throws {
        let omitted = source.tables.flatMap { table in table.omittedRows.values.map { (table, $0.reason) } }
        guard let (table, reason) = omitted.min(by: { $0.1 < $1.1 }) else { return }
        let others =
            omitted.count == 1
            ? ""
            : omitted.count == 2
                ? ", and 1 other row has such a value" : ", and \(omitted.count - 1) other rows have such values"
        throw SourceError(.refused, reason + others, remedy: remedy(of: table))
    }

    private func remedy(of table: FollowedSource.Table, _ column: String? = nil) -> SourceRemedy {
        let columns = table.omittedRows.values.map(\.column) + [column].compactMap { $0 } + table.asText
        return .changeValue(entity: table.entity, columns: Set(columns).sorted())
    }
}
