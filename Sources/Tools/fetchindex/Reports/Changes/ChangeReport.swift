internal import FetchIndexTerminal
internal import FetchIndex
internal import FetchIndexInspection

/// The details that a printed change batch has in addition to the positions of rows and sections.
struct ChangeDetails {
    /// The entity of the request.
    let entity: String
    /// Looks up the names of objects.
    var names: ([ObjectID]) -> [ObjectID: ObjectName] = { _ in [:] }
    /// Looks up the names of sections; nil if the order has no sections, or if rows are printed without section names.
    var sections: (ResultsChange) -> ChangedSections? = { _ in nil }
    /// The printed form of section names.
    var titles: SectionTitles?
    /// Whether the order has sections.
    var hasSections = false
    /// Whether the entity is printed for each row; otherwise only for rows of subentities.
    var namesEntities = false

    init(entity: String) { self.entity = entity }

    /// Makes all details from the order after the change. `commit` is the commit before the change; nil means the
    /// commit that the cache had. Without values, only the names of objects are looked up.
    init(_ definition: OrderDefinition, _ order: FetchedOrder, since commit: UInt64? = nil, withValues: Bool) {
        entity = definition.entity
        namesEntities = true
        let titles = SectionTitles(definition.sectionKey, order)
        self.titles = titles
        // Changes are printed even if their objects can't be read.
        let names = try? order.names(since: commit, withValues: withValues)
        self.names = { (try? names?.names(of: $0)) ?? [:] }
        hasSections = definition.sectionKey != nil
        if hasSections { sections = { ChangedSections($0, order, titles) } }
    }
}

/// A change batch, as JSON or as lines for people. Its rows are looked up and printed in pieces, so that a batch of
/// millions of rows needs little memory.
struct ChangeReport {
    private static let rowsOfPiece = 1000

    struct SectionEvent: Encodable {
        let kind: String
        var from: Int?
        var to: Int?
        /// The section's name; nil for the section of null.
        @NullWhenMissing private(set) var name: String?
    }

    let outcome: OutcomeReport
    /// The events of sections. It is nil if the changes are unknown, so that the order must be fetched again.
    private let sections: [SectionEvent]?
    private let change: ResultsChange
    private let details: ChangeDetails

    /// Whether the changes are known.
    var isKnown: Bool { sections != nil }

    /// Makes the report of a live order's batch.
    init(_ change: ResultsChange, _ duration: Duration, _ details: ChangeDetails) {
        if let reason = change.rebuilt {
            self.init(.rebuilt(reason), duration, details)
        } else {
            self.init(change.isEmpty ? .hit : .caughtUp(change), duration, details)
        }
    }

    /// Makes the report of an outcome: the changes with which the order was opened, or which a commit made.
    init(_ outcome: FetchOutcome, _ duration: Duration, _ details: ChangeDetails) {
        self.outcome = OutcomeReport(outcome, duration)
        self.details = details
        switch outcome {
        case .hit: change = ResultsChange()
        case .caughtUp(let caughtUp): change = caughtUp
        case .pending, .rebuilt, .computed:
            change = ResultsChange()
            sections = nil
            return
        }
        sections = Self.sections(of: change, details.titles)
    }

    private static func sections(of change: ResultsChange, _ titles: SectionTitles?) -> [SectionEvent] {
        change.sections.enumerated().map { index, event in
            let name = change.sectionName(ofEvent: index).map { titles?.title($0) ?? $0 }
            return SectionEvent(kind: "\(event.kind)", from: event.from, to: event.to, name: name)
        }
    }

    /// The numbers of the change, by section. `order` is the one after it.
    func summary(of change: ResultsChange, _ order: FetchedOrder) throws -> SummaryReport {
        SummaryReport(try order.summary(of: change), details.hasSections ? details.titles : nil)
    }

    /// Calls the body with pieces of the rows' events, in order.
    func forEachPiece(_ body: ([ChangedRow]) throws -> Void) throws {
        let sections = change.rows.isEmpty ? nil : details.sections(change)
        var rest = change.rows[...]
        while !rest.isEmpty {
            let piece = rest.prefix(Self.rowsOfPiece)
            rest = rest.dropFirst(piece.count)
            let names = details.names(piece.map(\.id))
            try body(piece.map { try ChangedRow($0, names[$0.id], details, in: sections) })
        }
    }

    // MARK: JSON

    private struct Known: Encodable {
        let outcome: OutcomeReport
    }

    /// Prints the batch as a JSON object in one line, with the cache's name if it is given.
    func printJSON(cacheName: String? = nil) throws {
        guard let sections else { return try Output.jsonLine(Known(outcome: outcome)) }
        let cache = try cacheName.map { try "\"cache\":\(Output.json($0))," } ?? ""
        try Output.write("{\(cache)\"outcome\":\(Output.json(outcome)),\"rows\":[")
        var text = ChangedRowText()
        var isFirst = true
        try forEachPiece { rows in
            var bytes: [UInt8] = []
            for row in rows {
                if !isFirst { bytes.append(UInt8(ascii: ",")) }
                isFirst = false
                text.append(row, to: &bytes)
            }
            Output.bytes(bytes)
        }
        try Output.line("],\"sections\":\(Output.json(sections))}")
    }

    // MARK: Lines

    /// Prints the batch as lines for people.
    func printLines() throws {
        guard let sections else { return Output.line("\(outcome.sentence); the changes are unknown: fetch again") }
        if sections.isEmpty && change.rows.isEmpty { return Output.line("no changes") }
        for event in sections {
            let places = steps(event.from.map(String.init) ?? "", event.to.map(String.init) ?? "")
            Output.line("section \(event.kind) \(places)  \(SectionReport.shownName(event.name).visible)")
        }
        try forEachPiece { rows in for row in rows { Output.line(line(of: row)) } }
    }

    private func line(of row: ChangedRow) -> String {
        func place(_ path: RowPath?) -> String { path.map { "\($0.section):\($0.row)" } ?? "" }
        let entity = row.isOfSubentity ? " \((row.entity ?? "").visible)" : ""
        let key = row.key.map { "  \($0.shownText.visible)" } ?? ""
        return "row \(row.kind.word) \(steps(place(row.from), place(row.to))) \(entity) #\(row.id)\(key)"
    }

    private func steps(_ from: String, _ to: String) -> String {
        from.isEmpty ? "at \(to)" : to.isEmpty ? "from \(from)" : "\(from) → \(to)"
    }
}
