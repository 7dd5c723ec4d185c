internal import FetchIndex
internal import FetchIndexInspection
internal import FetchIndexModels
internal import FetchIndexTerminal

extension ChangeDocument {
    /// Adds the change of an order, and its first rows of each kind. `order` is the order after the change, and `first`
    /// the commit before it; nil means the commit that the cache had.
    mutating func add(
        _ change: ResultsChange, _ order: FetchedOrder, _ definition: OrderDefinition, since first: UInt64?
    ) throws {
        let titles = SectionTitles(definition.sectionKey, order)
        let hasSections = definition.sectionKey != nil
        add(try order.summary(of: change), hasSections ? titles : nil)
        let names = try order.names(since: first, withValues: true)
        let sections = hasSections ? ChangedSections(change, order, titles) : nil
        for event in change.rows {
            guard wants(event.kind) else {
                leaveOut(event.kind)
                continue
            }
            let name = try names.names(of: [event.id])[event.id]
            // The place of a row that only shifts is the new one.
            let (from, to) = (event.kind == .update ? nil : event.from, event.to)
            let place = [
                try from.map { try Self.place($0, sections.map { $0.name(ofOld:) }) },
                try to.map { try Self.place($0, sections.map { $0.name(ofNew:) }) },
            ].compactMap { $0 }
            add(
                event.kind, name: name?.key?.shownText ?? "#\(event.id.number)",
                place: place.joined(separator: " → "),
                columns: name?.entity.attributes.map(\.name) ?? [],
                old: event.kind == .insert ? nil : name?.oldValues, new: event.kind == .delete ? nil : name?.newValues)
        }
    }

    private static func place(_ path: RowPath, _ name: ((Int) throws -> String?)?) throws -> String {
        guard let name else { return "row \(Numbers.grouped(path.row))" }
        return "\(SectionReport.shownName(try name(path.section)).visible), row \(Numbers.grouped(path.row))"
    }

    /// Adds the change of an object.
    mutating func add(_ change: ObjectChange) {
        guard wants(change.kind) else { return leaveOut(change.kind) }
        add(
            change.kind, name: change.key?.shownText ?? "#\(change.objectID.number)", place: "",
            columns: change.entity.attributes.map(\.name), old: change.oldValues, new: change.newValues,
            related: change.kind == .update ? change.changedRelationships : [])
    }

    /// Writes the document to standard output as HTML or Markdown. Another program renders it.
    func print(as format: ChangesFormat) throws {
        try Output.flush()
        try CompanionProgram(name: "fetchindex-browse", purpose: "the program that writes pages").run(
            ["changes", "--output=\(format.rawValue)"], input: Array(Output.json(self).utf8))
    }
}
