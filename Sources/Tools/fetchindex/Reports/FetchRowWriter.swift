internal import FetchIndexTerminal
internal import ArgumentParser
internal import FetchIndexCatalogues
internal import FetchIndex
internal import FetchIndexInspection

/// The output formats of `fetch` and `changes`.
enum FetchFormat: String, ExpressibleByArgument, CaseIterable {
    case table
    case json
    case jsonl
    case csv
    case tsv

    /// The catalogue format of the same name; nil for formats that have both sections and rows.
    var catalogue: CatalogueFormat? {
        switch self {
        case .table, .json: nil
        case .jsonl: .jsonl
        case .csv: .csv
        case .tsv: .tsv
        }
    }
}

/// Writes rows of an order as a catalogue. Writes out the bytes whenever 256 KiB or more are collected, so
/// that memory needn't hold all rows.
struct FetchRowWriter {
    let order: FetchedOrder
    let format: CatalogueFormat
    let columns: [FetchedColumn]

    func print(_ range: FetchedRange) throws {
        var place = "the header"
        do {
            var writer = try CatalogueWriter(format, columns: columns.map(\.name))
            try order.forEachRow(of: range) { row in
                place = "object \(row.id.number)"
                for column in columns {
                    var fault: CatalogueWriter.Unwritable?
                    let isText = try row.text(of: column) { text in
                        do throws(CatalogueWriter.Unwritable) { try writer.append(text: text) } catch {
                            fault = error
                        }
                    }
                    if let fault { throw fault }
                    if !isText { try writer.append(try row.value(of: column)) }
                }
                try writer.endRow()
                try writer.writeOutPiece()
            }
            Output.bytes(writer.bytes)
            writer.warnOfEmptyTexts()
        } catch let error as CatalogueWriter.Unwritable {
            let name = columns.indices.contains(error.column) ? columns[error.column].name : "the row"
            throw Failure("\(place), \(name): \(error.reason); the output is incomplete")
        }
    }
}

/// Writes sections of an order as a catalogue. The columns are the name, the index title, the number of rows, the
/// object's number if sections are by related objects, and the aggregates.
struct FetchSectionWriter {
    let order: FetchedOrder
    let format: CatalogueFormat
    let definition: OrderDefinition

    func print(_ range: Range<Int>) throws {
        let titles = SectionTitles(definition.sectionKey, order)
        let aggregates = definition.aggregates.unique
        var hasObjects = false
        if case .relationship = definition.sectionKey { hasObjects = true }
        let columns = ["name", "indexTitle", "count"] + (hasObjects ? ["id"] : []) + aggregates.map(\.description)
        var place = "the header"
        do {
            var writer = try CatalogueWriter(format, columns: columns)
            var left = range.count
            if left > 0 {
                try order.forEachSection(from: range.lowerBound) { section in
                    place = "section \(section.name.visible)"
                    try writer.append(titles.title(of: section).map(Value.string) ?? .null)
                    try writer.append(section.name.isEmpty ? .null : .string(titles.indexTitle(of: section)))
                    try writer.append(.integer(Int64(section.count)))
                    if hasObjects { try writer.append(section.objectID.map { .integer(Int64($0.number)) } ?? .null) }
                    for aggregate in aggregates { try writer.append(try section.aggregate(aggregate)) }
                    try writer.endRow()
                    try writer.writeOutPiece()
                    left -= 1
                    return left > 0
                }
            }
            Output.bytes(writer.bytes)
        } catch let error as CatalogueWriter.Unwritable {
            let name = columns.indices.contains(error.column) ? columns[error.column] : "the section"
            throw Failure("\(place), \(name): \(error.reason); the output is incomplete")
        }
    }
}

extension CatalogueWriter {
    static let pieceLength = 1 << 18

    /// Writes the collected bytes to standard output if there are at least `pieceLength` of them.
    mutating func writeOutPiece() throws {
        if bytes.count < Self.pieceLength { return }
        Output.bytes(bytes)
        // Throws if the write failed: the rest would be lost too.
        try Output.flush()
        removeWritten()
    }

    /// Warns if the catalogue has empty texts, which TSV can't distinguish from null.
    func warnOfEmptyTexts() {
        if emptyTexts == 0 { return }
        let texts = Numbers.count(emptyTexts, "empty text")
        Output.error("TSV cannot distinguish \(texts) from null; CSV and JSON lines can")
    }
}
