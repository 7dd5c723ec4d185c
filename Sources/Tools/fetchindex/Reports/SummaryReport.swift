internal import FetchIndexTerminal
internal import FetchIndex
internal import FetchIndexInspection

/// The numbers of a change, by section, as JSON or as lines for people.
struct SummaryReport: Encodable {
    private struct OfCache: Encodable {
        let cache: String
        let summary: SummaryReport
    }

    struct Section: Encodable {
        @NullWhenMissing private(set) var name: String?
        let from: Int?
        let to: Int?
        let rowsBefore: Int
        let rowsAfter: Int
        let inserted: Int
        let deleted: Int
        let moved: Int
        let arrived: Int
        let left: Int
        let updated: Int

        /// What happened to the section itself.
        var word: String {
            if from == nil { return "new" }
            if to == nil { return "gone" }
            return from == to ? "" : "\(from ?? 0) → \(to ?? 0)"
        }
    }

    let rowsBefore: Int
    let rowsAfter: Int
    let inserted: Int
    let deleted: Int
    let moved: Int
    let updated: Int
    /// The sections that changed; nil if the order has no sections.
    let sections: [Section]?

    /// Makes the summary of an order that has no rows, before and after.
    init(hasSections: Bool) {
        (rowsBefore, rowsAfter, inserted, deleted, moved, updated) = (0, 0, 0, 0, 0, 0)
        sections = hasSections ? [] : nil
    }

    /// `titles` are nil for an order without sections.
    init(_ summary: ChangeSummary, _ titles: SectionTitles?) {
        (rowsBefore, rowsAfter) = (summary.rowsBefore, summary.rowsAfter)
        (inserted, deleted) = (summary.counts.inserted, summary.counts.deleted)
        (moved, updated) = (summary.counts.moved, summary.counts.updated)
        sections = titles.map { titles in
            summary.sections.map { section in
                Section(
                    name: section.isNull ? nil : titles.title(section.name), from: section.from, to: section.to,
                    rowsBefore: section.rowsBefore, rowsAfter: section.rowsAfter, inserted: section.counts.inserted,
                    deleted: section.counts.deleted, moved: section.counts.moved, arrived: section.counts.arrived,
                    left: section.counts.left, updated: section.counts.updated)
            }
        }
    }

    func print(ofCache name: String, asJSON isJSON: Bool) throws {
        if isJSON { return try Output.jsonLine(OfCache(cache: name, summary: self)) }
        Output.line("\(name.visible):")
        printLines()
    }

    private func printLines() {
        let words = [(inserted, "inserted"), (deleted, "deleted"), (moved, "moved"), (updated, "updated")]
        Output.line(
            "\(Self.rows(rowsBefore, rowsAfter))\(Self.listed(words))")
        guard let sections, !sections.isEmpty else { return }
        let titles = ["rows before", "after", "inserted", "deleted", "moved", "in", "out", "updated"]
        var table = TextTable(
            [.init(title: "section")] + titles.map { .init(title: $0, isNumber: true) } + [.init(title: "index")])
        for section in sections {
            let counts = [
                section.rowsBefore, section.rowsAfter, section.inserted, section.deleted, section.moved,
                section.arrived, section.left, section.updated,
            ]
            let cells = [SectionReport.shownName(section.name).visible] + counts.map(Numbers.grouped)
            table.append(cells + [section.word])
        }
        table.finish()
    }

    private static func rows(_ before: Int, _ after: Int) -> String {
        before == after ? Numbers.count(before, "row") : "\(Numbers.count(before, "row")) → \(Numbers.grouped(after))"
    }

    private static func listed(_ words: [(Int, String)]) -> String {
        let parts = words.filter { $0.0 > 0 }.map { "\(Numbers.grouped($0.0)) \($0.1)" }
        return parts.isEmpty ? ", no changes" : ": " + parts.joined(separator: ", ")
    }
}
