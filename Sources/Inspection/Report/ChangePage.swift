package import FetchIndexInspection

/// Renders the report of a change with the templates of the inspection report.
package enum ChangePage {
    private struct Page {
        let change: Change
        let style: String
    }

    private struct Change {
        let title: String
        let subtitle: String
        let numbers: String
        let hasSections: Bool
        let sections: [ChangeDocument.Section]
        let moreSections: String
        let groups: [Group]
    }

    private struct Group {
        let style: String
        let title: String
        let rows: [Row]
        let more: String
    }

    private struct Row {
        let name: String
        let place: String
        let cells: [Cell]
    }

    private struct Cell {
        let column: String
        let old: String
        let new: String
        /// Whether the row exists before and after, so that the cell has two values.
        let hasBoth: Bool
    }

    package static func html(_ document: ChangeDocument) throws -> String {
        try Templates.render(Page(change: change(document), style: Templates.style), .changes)
    }

    package static func markdown(_ document: ChangeDocument) throws -> String {
        try Templates.render(change(document), .markdown)
    }

    private static func change(_ document: ChangeDocument) -> Change {
        Change(
            title: document.title, subtitle: document.subtitle, numbers: document.numbers,
            hasSections: !document.sections.isEmpty || !document.moreSections.isEmpty, sections: document.sections,
            moreSections: document.moreSections,
            groups: document.groups.map { group in
                Group(style: group.kind, title: group.title, rows: group.rows.map(row), more: group.more)
            })
    }

    private static func row(_ row: ChangeDocument.Row) -> Row {
        Row(
            name: row.name, place: row.place,
            cells: row.cells.map { cell in
                Cell(
                    column: cell.column, old: cell.old ?? "", new: cell.new ?? "",
                    hasBoth: cell.old != nil && cell.new != nil)
            })
    }
}
