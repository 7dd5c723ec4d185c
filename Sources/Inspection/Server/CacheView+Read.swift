internal import FetchIndex
internal import FetchIndexModels
internal import FetchIndexPredicates
internal import FetchIndexInspection

/// The answers to the page's requests about rows.
extension CacheView {
    /// The maximum number of rows or sections in an answer.
    private static let mostRows = 500
    private static let mostTextLength = 300
    /// The time after which a search answers with the rows found so far.
    private static let searchTime = Duration.milliseconds(12)

    /// Catches the order up, and returns its columns and counts.
    func view() throws -> ViewMessage {
        _ = try bringUpToDate()
        return try read { opened, order in
            ViewMessage(
                state: opened.changes.state,
                columns: order.attributeColumns.map {
                    ViewMessage.Column(name: $0.name.visible, kind: Self.kind($0.type))
                }, hasSections: opened.controller.sectionKey != nil, count: order.rowCount,
                sectionCount: order.sectionCount)
        }
    }

    private static func kind(_ type: ValueType) -> String {
        switch type {
        case .integer, .double, .decimal: "number"
        case .date: "date"
        default: "text"
        }
    }

    /// Returns rows by their numbers, counted over all sections.
    func rows(from start: Int, limit: Int) throws -> RowsMessage {
        try read { opened, order in
            guard start >= 0, start < order.rowCount else { return RowsMessage(rows: []) }
            let titles = SectionTitles(opened.definition.sectionKey, order)
            var rows: [RowsMessage.Row] = []
            var section: (index: Int, name: String?)?
            let columns = order.attributeColumns.count
            try order.forEachRow(from: start, limit: min(limit, Self.mostRows)) { row in
                if section?.index != row.path.section {
                    let found = try order.section(at: row.path.section)
                    section = (row.path.section, titles.title(of: found).map(Self.shown))
                }
                rows.append(
                    RowsMessage.Row(
                        id: Self.text(row.id), section: row.path.section, sectionRow: row.path.row,
                        sectionName: section?.name, values: try Self.values(row, columns)))
            }
            return RowsMessage(rows: rows)
        }
    }

    /// Returns sections by their indexes.
    func sections(from start: Int, limit: Int) throws -> SectionsMessage {
        try read { opened, order in
            let titles = SectionTitles(opened.definition.sectionKey, order)
            var left = min(limit, Self.mostRows)
            var sections: [SectionsMessage.Section] = []
            guard start >= 0, start < order.sectionCount, left > 0 else { return SectionsMessage(sections: []) }
            try order.forEachSection(from: start) { section in
                sections.append(
                    SectionsMessage.Section(
                        name: titles.title(of: section).map(Self.shown), count: section.count,
                        rowsBefore: section.rowsBefore))
                left -= 1
                return left > 0
            }
            return SectionsMessage(sections: sections)
        }
    }

    /// Returns the current row number of an object.
    func place(of id: UInt64) throws -> PlaceMessage {
        try read { opened, _ in PlaceMessage(row: opened.controller.row(of: RecordKey(rawValue: id))) }
    }

    /// Returns rows that match a predicate, beginning at row `start`. Ends early when `limit` or `mostRows` rows are
    /// found, or `searchTime` is over; a later request can continue at `next`.
    func search(_ format: String, from start: Int, limit: Int) throws -> SearchMessage {
        let predicate = try MalformedPredicate.naming(format) { try FetchPredicate(format: format, argumentArray: []) }
        return try read { opened, order in
            let end = ContinuousClock.now + Self.searchTime
            let most = min(max(1, limit), Self.mostRows)
            let columns = order.attributeColumns.count
            var matches: [SearchMessage.Match] = []
            let next = try order.search(predicate, from: max(0, start)) { _ in
                matches.count >= most || ContinuousClock.now >= end
            } _: { number, row in
                matches.append(
                    SearchMessage.Match(id: Self.text(row.id), number: number, values: try Self.values(row, columns)))
            }
            return SearchMessage(
                matches: matches, next: next, count: order.rowCount, state: opened.changes.state)
        }
    }

    static func text(_ id: ObjectID) -> String { String(id.key.rawValue) }

    private static func values(_ row: borrowing FetchedRow, _ count: Int) throws -> [String?] {
        var values: [String?] = []
        for index in 0..<count {
            let value = try row.value(at: index)
            values.append(value == .null ? nil : shown(value.shownText))
        }
        return values
    }

    private static func shown(_ text: String) -> String { text.shortened(to: mostTextLength) }
}
