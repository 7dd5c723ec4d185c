internal import FetchIndex
internal import FetchIndexCatalogues
internal import FetchIndexInspection
internal import FetchIndexTerminal

extension ChangeReport {
    private static let columns = [
        "kind", "id", "key", "entity", "fromSection", "fromRow", "toSection", "toRow", "old",
        "new", "fromSectionName", "toSectionName",
    ]

    /// Prints a line for each changed row, in CSV and TSV below a header.
    func printRows(as format: CatalogueFormat) throws {
        if format == .jsonl { return try printLinesOfJSON() }
        do {
            var writer = try CatalogueWriter(format, columns: Self.columns)
            var text = ChangedRowText()
            try forEachPiece { rows in
                for row in rows { try Self.write(row, &text, to: &writer) }
                try writer.writeOutPiece()
            }
            Output.bytes(writer.bytes)
        } catch let error as CatalogueWriter.Unwritable {
            throw Failure("\(Self.columns[error.column]): \(error.reason); the output is incomplete")
        }
    }

    private func printLinesOfJSON() throws {
        var text = ChangedRowText()
        try forEachPiece { rows in
            var bytes: [UInt8] = []
            for row in rows {
                text.append(row, to: &bytes)
                bytes.append(UInt8(ascii: "\n"))
            }
            Output.bytes(bytes)
        }
    }

    private static func write(
        _ row: ChangedRow, _ text: inout ChangedRowText, to writer: inout CatalogueWriter
    ) throws {
        try writer.append(.string(row.kind.word))
        try writer.append(.integer(Int64(row.id)))
        try writer.append(row.key.map { .string($0.shownText) } ?? .null)
        try writer.append(row.entity.map { .string($0) } ?? .null)
        for place in [row.from?.section, row.from?.row, row.to?.section, row.to?.row] {
            try writer.append(place.map { .integer(Int64($0)) } ?? .null)
        }
        for values in [row.old, row.new] { try writer.append(text.field(values, of: row)) }
        for name in [row.fromSectionName, row.toSectionName] { try writer.append(name ?? .null) }
        try writer.endRow()
    }
}
