internal import Bytes
internal import ArgumentParser
internal import FetchIndex

struct FetchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch", abstract: "Fetch sections and rows, from a named cache when one is given.")

    private static let defaultTableLimit = 50
    private static let defaultTableSections = 20

    @OptionGroup var store: StoreArgument
    @Option(help: "The entity.") var entity: String
    @OptionGroup var request: RequestOptions
    @Option(name: .customLong("cache"), help: "The name of the cache.") var cacheName: String?
    @Option(parsing: .unconditional, help: "Rows to skip.") var offset = 0
    @Option(parsing: .unconditional, help: "Rows to print (tables: 50 by default).") var limit: Int?
    @Option(parsing: .unconditional, help: "Sections to skip.") var sectionOffset = 0
    @Option(parsing: .unconditional, help: "Sections to print (tables: 20 by default, all with --sections-only).")
    var sectionLimit: Int?
    @Flag(help: "No rows.") var sectionsOnly = false
    @Flag(help: "Instead of rows, how they are found: the plan, rows read and rows matched.") var explain = false
    @OptionGroup var output: OutputOption

    func validate() throws {
        guard offset >= 0, limit ?? 0 >= 0, sectionOffset >= 0, sectionLimit ?? 0 >= 0 else {
            throw ValidationError("--offset, --limit, --section-offset and --section-limit must not be negative.")
        }
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
                return
            }
            let range = range(of: order)
            // A damaged cache is rebuilt, and this body called again: damage must be met before anything is printed.
            try order.prove(sections: range.sections, rows: range.rows)
            do {
                try print(order, outcome, definition, range)
            } catch  where error.isDamage {
                throw Failure("\(error); the output is incomplete")
            }
        }
    }

    private func range(of order: FetchedOrder) -> FetchedRange {
        let rowLimit = sectionsOnly ? 0 : limit ?? (output.isJSON ? nil : Self.defaultTableLimit)
        let tableSections = sectionsOnly ? nil : Self.defaultTableSections
        return FetchedRange(
            of: order, sectionOffset: sectionOffset,
            sectionLimit: sectionLimit ?? (output.isJSON ? nil : tableSections),
            rowOffset: offset, rowLimit: rowLimit)
    }

    private func print(
        _ order: FetchedOrder, _ outcome: OutcomeReport, _ definition: OrderDefinition, _ range: FetchedRange
    ) throws {
        if output.isJSON {
            return try FetchJSONPrinter(order: order, sectionKey: definition.sectionKey).print(outcome, range)
        }
        let printer = FetchTablePrinter(order: order, hasSections: definition.sectionKey != nil)
        try printer.printSummary(outcome, range)
        if sectionsOnly { return }
        if definition.sectionKey != nil { Output.line("") }
        try printer.printRows(range.rows, hints: limit == nil)
    }
}
