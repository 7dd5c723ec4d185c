internal import FetchIndex
internal import FetchIndexCatalogues
internal import FetchIndexInspection
internal import FetchIndexModels
internal import FetchIndexTerminal

/// The net changes of an entity's objects, printed as they are found.
final class ObjectChangeReport {
    private struct Points: Encodable {
        let entity: String
        let since: UInt64
        let until: UInt64
    }

    private static let start = "{\"rows\":["
    private static let columns = ["kind", "id", "key", "entity", "old", "new", "related"]

    private let entity: String
    private let format: ChangesFormat
    private var document: ChangeDocument
    private var writer: CatalogueWriter?
    private var text = ChangedRowText()
    private(set) var count = 0
    /// The number of updated objects of which only relationships changed: their old and new values are equal.
    private(set) var onlyRelatedCount = 0

    /// `most` is the maximum number of objects of each kind in HTML and Markdown.
    init(entity: String, as format: ChangesFormat, title: String? = nil, most: Int) throws {
        (self.entity, self.format) = (entity, format)
        document = ChangeDocument(title: title ?? entity.visible, subtitle: "", most: most)
        if let table = format.catalogue, table != .jsonl { writer = try CatalogueWriter(table, columns: Self.columns) }
    }

    func print(_ change: ObjectChange) throws {
        count += 1
        if !change.changedRelationships.isEmpty, change.oldValues == change.newValues { onlyRelatedCount += 1 }
        switch format {
        case .table: Output.line(line(of: change))
        case .json: write(ChangedRow(change), after: count == 1 ? Self.start : ",")
        case .jsonl: write(ChangedRow(change), before: "\n")
        case .csv, .tsv: try writeFields(of: ChangedRow(change))
        case .html, .markdown: document.add(change)
        }
    }

    /// Prints the end, once all changes between two commits are printed.
    func end(since first: UInt64, until last: UInt64, subtitle: String? = nil) throws {
        switch format {
        case .html, .markdown:
            document.end(
                subtitle: subtitle
                    ?? "from commit \(Numbers.grouped(Int(clamping: first))) to commit \(Numbers.grouped(Int(clamping: last)))"
            )
            try document.print(as: format)
        case .table: if count == 0 { Output.line("no changes") }
        case .json:
            let points = try Output.json(Points(entity: entity, since: first, until: last))
            Output.line((count == 0 ? Self.start : "") + "],\(points.dropFirst())")
        case .jsonl: break
        case .csv, .tsv: if let writer { Output.bytes(writer.bytes) }
        }
    }

    private func write(_ row: ChangedRow, after start: String = "", before end: String = "") {
        var bytes = Array(start.utf8)
        text.append(row, to: &bytes)
        bytes += end.utf8
        Output.bytes(bytes)
    }

    private func writeFields(of row: ChangedRow) throws {
        do {
            try writer?.append(.string(row.kind.word))
            try writer?.append(.integer(Int64(row.id)))
            try writer?.append(row.key.map { .string($0.shownText) } ?? .null)
            try writer?.append(row.entity.map { .string($0) } ?? .null)
            for values in [row.old, row.new] { try writer?.append(text.field(values, of: row)) }
            try writer?.append(row.related.isEmpty ? .null : .string(row.related.joined(separator: ",")))
            try writer?.endRow()
            try writer?.writeOutPiece()
        } catch let error as CatalogueWriter.Unwritable {
            throw Failure("\(Self.columns[error.column]): \(error.reason); the output is incomplete")
        }
    }

    /// A line for people, with the values that changed.
    private func line(of change: ObjectChange) -> String {
        let entity = change.entity.name == entity ? "" : " \(change.entity.name.visible)"
        let key = change.key.map { "  \($0.shownText.visible)" } ?? ""
        var parts: [String] = []
        if let old = change.oldValues, let new = change.newValues {
            for index in old.indices where old[index] != new[index] {
                let name = change.entity.attributes[index].name.visible
                parts.append("\(name): \(old[index].shownText.visible) → \(new[index].shownText.visible)")
            }
        }
        if change.kind == .update { parts += change.changedRelationships.map { "\($0.visible): related changed" } }
        let values = parts.isEmpty ? "" : "  " + parts.joined(separator: ", ")
        return "\(change.kind.word)\(entity) #\(change.objectID.number)\(key)\(values)"
    }
}
