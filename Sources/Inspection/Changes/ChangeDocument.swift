package import FetchIndex

/// The report of a change for a mail or a page: numbers, sections, and the changed rows cell by cell.
///
/// The tool makes it, and another program renders it with the templates of the inspection report.
package struct ChangeDocument: Codable, Sendable {
    package struct Section: Codable, Sendable {
        package let name: String
        /// What happened to the section itself: new, gone or moved; otherwise empty.
        package let word: String
        package let rowsBefore: String
        package let rowsAfter: String
        package let inserted: String
        package let deleted: String
        package let moved: String
        package let arrived: String
        package let left: String
        package let updated: String
    }

    /// A value before and after; nil for a row that doesn't exist then.
    package struct Cell: Codable, Sendable {
        package let column: String
        package let old: String?
        package let new: String?
    }

    package struct Row: Codable, Sendable {
        package let name: String
        package let place: String
        package let cells: [Cell]
    }

    /// The rows of one kind of event.
    package struct Group: Codable, Sendable {
        package let kind: String
        package fileprivate(set) var rows: [Row] = []
        fileprivate var count = 0

        package var title: String { "\(Numbers.grouped(count)) \(kind)" }
        /// A sentence about the rows that are left out; empty if all are shown.
        package var more: String { count == rows.count ? "" : "and \(Numbers.grouped(count - rows.count)) more" }
    }

    package let title: String
    package private(set) var subtitle: String
    /// The numbers of the whole change.
    package private(set) var numbers = ""
    package private(set) var sections: [Section] = []
    /// A sentence about the sections that are left out; empty if all are shown.
    package private(set) var moreSections = ""
    package private(set) var groups: [Group] = []

    /// The maximum number of rows of each kind, and of sections.
    private let most: Int
    private static let kinds: [ChangeKind] = [.insert, .delete, .move, .update]
    private static let mostTextLength = 200

    package init(title: String, subtitle: String, most: Int) {
        (self.title, self.subtitle, self.most) = (title, subtitle, most)
    }

    /// Adds the numbers of an order's change, with its sections if it has any.
    package mutating func add(_ summary: ChangeSummary, _ titles: SectionTitles?) {
        let (before, after) = (summary.rowsBefore, summary.rowsAfter)
        let rows =
            before == after
            ? Numbers.count(before, "row") : "\(Numbers.count(before, "row")) → \(Numbers.grouped(after))"
        let counts = [
            (summary.counts.inserted, "inserted"), (summary.counts.deleted, "deleted"), (summary.counts.moved, "moved"),
            (summary.counts.updated, "updated"),
        ].filter { $0.0 > 0 }
        numbers =
            counts.isEmpty
            ? "\(rows), no changes"
            : "\(rows): " + counts.map { "\(Numbers.grouped($0.0)) \($0.1)" }.joined(separator: ", ")
        guard let titles else { return }
        sections = summary.sections.prefix(most).map { section in
            let name = section.isNull ? "(no value)" : titles.title(section.name)
            let word =
                section.from == nil ? "new" : section.to == nil ? "gone" : section.from == section.to ? "" : "moved"
            func shown(_ number: Int) -> String { number == 0 ? "" : Numbers.grouped(number) }
            let counts = section.counts
            return Section(
                name: name.isEmpty ? "\"\"" : name.visible, word: word, rowsBefore: Numbers.grouped(section.rowsBefore),
                rowsAfter: Numbers.grouped(section.rowsAfter), inserted: shown(counts.inserted),
                deleted: shown(counts.deleted), moved: shown(counts.moved), arrived: shown(counts.arrived),
                left: shown(counts.left), updated: shown(counts.updated))
        }
        let rest = summary.sections.count - sections.count
        if rest > 0 { moreSections = "and \(Numbers.count(rest, "more section"))" }
    }

    /// Ends the report of changed objects, which were added before, with their numbers.
    package mutating func end(subtitle: String) {
        self.subtitle = subtitle
        numbers = groups.isEmpty ? "no changes" : groups.map(\.title).joined(separator: ", ")
    }

    /// Whether another row of a kind is shown: then `add` it, otherwise `leaveOut` it.
    package func wants(_ kind: ChangeKind) -> Bool {
        (groups.first { $0.kind == kind.participle }?.count ?? 0) < most
    }

    /// Adds a changed row, with values in the order of the columns. Nil values mean that the row doesn't exist then; a
    /// row that exists before and after shows only the cells that changed, and the names of relationships that changed.
    package mutating func add(
        _ kind: ChangeKind, name: String, place: String, columns: [String], old: [Value]?, new: [Value]?,
        related: [String] = []
    ) {
        let index = count(kind)
        var cells = columns.enumerated().compactMap { index, column -> Cell? in
            let (before, after) = (old?[index] ?? .null, new?[index] ?? .null)
            if before == after { return nil }
            return Cell(
                column: column.visible, old: old.map { _ in Self.text(before) }, new: new.map { _ in Self.text(after) })
        }
        cells += related.map { Cell(column: $0.visible, old: nil, new: "changed") }
        groups[index].rows.append(Row(name: name.visible, place: place, cells: cells))
    }

    /// Counts a row that isn't shown, because `wants` is false.
    package mutating func leaveOut(_ kind: ChangeKind) { _ = count(kind) }

    /// Counts a row, and returns the index of its group.
    private mutating func count(_ kind: ChangeKind) -> Int {
        let word = kind.participle
        if let index = groups.firstIndex(where: { $0.kind == word }) {
            groups[index].count += 1
            return index
        }
        let index = groups.count { Self.rank($0.kind) < Self.rank(word) }
        groups.insert(Group(kind: word), at: index)
        groups[index].count = 1
        return index
    }

    private static func rank(_ kind: String) -> Int { kinds.firstIndex { $0.participle == kind } ?? kinds.count }

    private static func text(_ value: Value) -> String {
        value.isNull ? "(no value)" : value.shownText.shortened(to: mostTextLength)
    }
}
