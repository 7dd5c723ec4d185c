internal import ArgumentParser
internal import FetchIndex

struct FetchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch", abstract: "Fetch sections and rows, from a named cache when one is given.")

    private static let defaultTableLimit = 50

    @OptionGroup var store: StoreArgument
    @Option(help: "The entity.") var entity: String
    @OptionGroup var request: RequestOptions
    @Option(name: .customLong("cache"), help: "The name under which the order is kept.") var cacheName: String?
    @Option(parsing: .unconditional, help: "Rows to skip.") var offset = 0
    @Option(parsing: .unconditional, help: "Rows to print (tables: 50 unless said).") var limit: Int?
    @Flag(help: "No rows.") var sectionsOnly = false
    @Flag(help: "Instead of rows, how they are found: the plan, rows read and rows matched.") var explain = false
    @OptionGroup var output: OutputOption

    func validate() throws {
        guard offset >= 0, limit ?? 0 >= 0 else { throw ValidationError("--offset and --limit must not be negative.") }
    }

    func run() throws {
        let container = try store.open(forWriting: false)
        let stored = try cacheName.flatMap { try request.definition(of: entity, cache: $0, in: container) }
        let definition = try stored ?? request.definition(of: entity)
        let plan = explain ? try container.plan(definition) : nil
        let bar = ProgressBar("building")
        let start = ContinuousClock.now
        try container.withOrder(definition, request.orderOptions(cacheName: cacheName, bar)) { order in
            let outcome = OutcomeReport(order.outcome, ContinuousClock.now - start)
            bar.finish()
            if let plan {
                let report = PlanReport(plan, order, cacheName: cacheName, outcome)
                if output.isJSON { try Output.jsonLine(report) } else { report.lines.forEach(Output.line) }
            } else if output.isJSON {
                try printJSON(order, outcome, definition)
            } else {
                try printTables(order, outcome, definition)
            }
        }
    }

    // The text is printed only when all of it could be read: a damaged cache is rebuilt and read again.

    private func printJSON(_ order: FetchedOrder, _ outcome: OutcomeReport, _ definition: OrderDefinition) throws {
        var sections: [SectionReport] = []
        try order.forEachSection { section in
            sections.append(SectionReport(section, definition.sectionKey))
            return true
        }
        try check(order)
        Output.write("{\"outcome\":\(try Output.json(outcome)),\"count\":\(order.rowCount)")
        Output.write(",\"sections\":\(try Output.json(sections)),\"rows\":[")
        if !sectionsOnly {
            var isFirst = true
            let attributes = order.entity.attributes
            try order.forEachRow(from: offset, limit: limit) { row in
                var values: [String: JSONValue] = [:]
                for (slot, attribute) in attributes.enumerated() {
                    values[attribute.name] = .value(try row.value(at: slot))
                }
                let report = RowReport(id: row.id.number, section: row.path.section, row: row.path.row, values: values)
                Output.write((isFirst ? "\n" : ",\n") + (try Output.json(report)))
                isFirst = false
            }
        }
        Output.line("]}")
    }

    /// Reads a few rows before anything is printed, so that most damage is met while it can still be mended.
    private func check(_ order: FetchedOrder) throws {
        if sectionsOnly { return }
        try order.forEachRow(from: offset, limit: min(limit ?? 100, 100)) { _ in }
    }

    private func printTables(_ order: FetchedOrder, _ outcome: OutcomeReport, _ definition: OrderDefinition) throws {
        var sections: [OrderSection] = []
        try order.forEachSection { section in
            sections.append(section)
            return true
        }
        let attributes = order.entity.attributes
        var table = TextTable(
            [TextTable.Column(title: "section"), TextTable.Column(title: "row", isNumber: true)]
                + attributes.map {
                    TextTable.Column(title: $0.name, isNumber: $0.type == .integer || $0.type == .double)
                })
        var rowCount = 0
        if !sectionsOnly {
            try order.forEachRow(from: offset, limit: limit ?? Self.defaultTableLimit) { row in
                let values = try attributes.indices.map { try row.value(at: $0).description }
                table.append([sections[row.path.section].name, String(row.path.row)] + values)
                rowCount += 1
            }
        }
        let rows = "\(Numbers.grouped(order.rowCount)) row\(order.rowCount == 1 ? "" : "s")"
        let grouped = definition.sectionKey == nil ? rows : "\(rows) in \(Numbers.grouped(order.sectionCount)) sections"
        Output.line("\(outcome.sentence): \(grouped)")
        if definition.sectionKey != nil {
            var sectionTable = TextTable([
                TextTable.Column(title: "section"), TextTable.Column(title: "rows", isNumber: true),
            ])
            for section in sections.prefix(sectionsOnly ? .max : 20) {
                sectionTable.append([
                    section.name.isEmpty ? "(no value)" : section.name, Numbers.grouped(section.count),
                ])
            }
            sectionTable.print()
            if !sectionsOnly && sections.count > 20 {
                Output.line("… \(sections.count - 20) more sections (--sections-only)")
            }
            if !sectionsOnly { Output.line("") }
        }
        if sectionsOnly { return }
        table.print()
        let left = order.rowCount - offset - rowCount
        if left > 0 && limit == nil { Output.line("… \(Numbers.grouped(left)) more rows (--limit, --offset)") }
    }
}
