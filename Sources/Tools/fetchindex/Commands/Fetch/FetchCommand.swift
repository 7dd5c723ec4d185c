internal import FetchIndexTerminal
internal import FetchIndexPlatform
internal import ArgumentParser
internal import FetchIndex
internal import FetchIndexInspection

struct FetchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch", abstract: "Fetch sections and rows, from a named cache if one is given.",
        discussion: """
            --output table is for people and, by default, prints the first sections and rows. json prints sections and \
            rows in one document. jsonl, csv and tsv print rows, in the form that `import` reads, or sections if \
            --sections-only is given. Output is written while rows are read.

            If --cache is given without a request, the request is the cache's own. If another request is given, it replaces the \
            cache, unless the cache is locked (`cache lock`). If --require doesn't accept the outcome, the exit code is 4, no \
            sections or rows are printed, and the cache doesn't change.

            Example: fetchindex fetch books.store --section publisher --sort price:desc --cache 'by publisher'
            """)

    private static let defaultTableLimit = 50
    private static let defaultTableSections = 20

    @OptionGroup var store: StoreArgument
    @OptionGroup var threads: ThreadsOption
    @Option(help: "The entity; by default the cache's own, or the store's only entity.") var entity: String?
    @Option(
        name: .customLong("request"),
        help: "A request that the store's model keeps, instead of --entity; other options are added to it.")
    var requestName: String?
    @Option(
        name: .customLong("with"), parsing: .unconditionalSingleValue,
        help: "With --request: the value of a variable of its predicate, NAME=VALUE.")
    var values: [String] = []
    @OptionGroup var request: RequestOptions
    @Option(name: .customLong("cache"), help: "The name of the cache.") var cacheName: String?
    @Option(
        help: ArgumentHelp(
            "The accepted outcomes: hit, caughtUp, or hit,caughtUp. Any other outcome ends with exit code 4.",
            valueName: "outcome"))
    var require: RequiredOutcome?
    @OptionGroup var timeout: TimeoutOption
    @Option(parsing: .unconditional, help: "The number of rows to skip.") var offset = 0
    @Option(
        parsing: .unconditional, help: "The maximum number of rows to print; by default 50 in a table, otherwise all.")
    var limit: Int?
    @Option(parsing: .unconditional, help: "The number of sections to skip.") var sectionOffset = 0
    @Option(
        parsing: .unconditional,
        help: "The maximum number of sections to print; by default 20 in a table with rows, otherwise all.")
    var sectionLimit: Int?
    @Option(
        help: "The columns of rows: KEY,..., where KEY may be a path such as author.name; all attributes by default.")
    var columns: String?
    @Option(
        parsing: .unconditional, help: "Print only the section with this name; --offset and --limit count its rows.")
    var inSection: String?
    @Flag(help: "Print no rows.") var sectionsOnly = false
    @Flag(
        help:
            "Print only the number of rows. It costs no sort and, where ranks in a cache or counters have it, no scan.")
    var count = false
    @Option(
        help: ArgumentHelp(
            "Print the distinct values of an attribute with their numbers of rows, the most frequent first: short for --section KEY --section-order count --sections-only.",
            valueName: "key"))
    var distinct: String?
    @OptionGroup var choice: RowChoice
    @Option(
        help: ArgumentHelp(
            "Print the state at an earlier point, without changing the cache.",
            discussion: "A bookmark, the number of a commit, or a time in ISO 8601, which the log must reach."),
        transform: StorePoint.parse)
    var at: StorePoint?
    @Flag(help: "Instead of sections and rows, print the plan, and the numbers of rows read and matched.")
    var explain = false
    @Option(help: "A table for people, JSON for programs, or only rows as JSON lines, CSV or TSV.")
    var output = FetchFormat.table

    private var isJSON: Bool { output == .json }
    /// Whether no rows are printed.
    private var hasOnlySections: Bool { sectionsOnly || distinct != nil }

    func validate() throws {
        // A check for each group of options that exclude or need each other.
        let limitsSections = sectionOffset != 0 || sectionLimit != nil
        if output.catalogue != nil && (explain || limitsSections && !hasOnlySections) {
            throw ValidationError(
                "--explain needs --output table or json. --section-offset and --section-limit need one of these formats, or --sections-only."
            )
        }
        if output.catalogue != nil && hasOnlySections && (inSection != nil || columns != nil) {
            throw ValidationError("--sections-only prints no rows: --in-section and --columns cannot be used with it.")
        }
        if inSection != nil && limitsSections {
            throw ValidationError(
                "--in-section prints one section: --section-offset and --section-limit cannot be used with it.")
        }
        if explain && (inSection != nil || columns != nil) {
            throw ValidationError("--explain prints no rows: --in-section and --columns cannot be used with it.")
        }
        let asksForMore =
            cacheName != nil || explain || hasOnlySections || limitsSections || inSection != nil || columns != nil
            || limit != nil || offset != 0 || !request.hasOnlyPredicate
        if count && asksForMore {
            throw ValidationError("--count prints a number: it can be used with --entity, --request and --where only.")
        }
        if count && output.catalogue != nil { throw ValidationError("--count needs --output table or json.") }
        if distinct != nil && (limit != nil || offset != 0) {
            throw ValidationError("--distinct prints values: --section-limit and --section-offset choose which.")
        }
        if distinct != nil && (request.section != nil || inSection != nil || columns != nil) {
            throw ValidationError(
                "--distinct is --section of its own: --section, --in-section and --columns cannot be used with it.")
        }
        let choosesNoRows = explain || count || hasOnlySections
        if !choice.isEmpty && (offset != 0 || limit != nil || choosesNoRows) {
            throw ValidationError(
                "--part, --sample and --percentile choose rows: other options that do cannot be used with them.")
        }
        if choice.part != nil && inSection != nil { throw ValidationError("--part is of all rows.") }
        if choice.percentile != nil && (output.catalogue != nil || columns != nil) {
            throw ValidationError("--percentile prints no rows: it needs --output table or json, and no --columns.")
        }
        if requestName != nil && entity != nil { throw ValidationError("--request has an entity of its own.") }
        if requestName == nil && !values.isEmpty { throw ValidationError("--with needs --request.") }
        if at != nil && (explain || count || require != nil) {
            throw ValidationError("--explain, --count and --require are for the newest state, not for --at.")
        }
        if cacheName == nil && (require != nil || timeout.seconds != nil) {
            throw ValidationError("--require and --timeout need --cache.")
        }
        guard offset >= 0, limit ?? 0 >= 0, sectionOffset >= 0, sectionLimit ?? 0 >= 0 else {
            throw ValidationError("--offset, --limit, --section-offset and --section-limit must not be negative.")
        }
    }

    mutating func run() throws {
        let container = try store.open(forWriting: false, threads: threads.count)
        let definition = try definition(in: container)
        if count { return try printCount(definition, container) }
        // With a predicate, a table and JSON say how many rows match, so that all of them are found.
        let plannedLimit = definition.predicate == nil ? limit ?? (isJSON ? nil : Self.defaultTableLimit) : nil
        let plan = explain ? try container.plan(definition, limit: plannedLimit.map { rows(upTo: $0) }) : nil
        let bar = ProgressBar("building")
        var options = request.orderOptions(cacheName: cacheName, bar, author: "fetch")
        options.writeTimeout = timeout.limit
        if let require, let cacheName { options.check = { try require.check($0, cacheName: cacheName) } }
        // An earlier order is reconstructed from the whole current one.
        options.limitRows(to: at == nil ? mostRows : .max, countingAll: output.catalogue == nil)
        let start = ContinuousClock.now
        try withOrder(definition, options, in: container) { order in
            let outcome = OutcomeReport(order.outcome, ContinuousClock.now - start)
            bar.finish()
            if let plan { return try print(plan, order, outcome, definition) }
            if choice.percentile != nil {
                let sections = try range(of: order, definition).sections
                return try PercentileReport(of: order, definition, sections, choice).print(asJSON: isJSON)
            }
            let columns = try columns(of: order)
            let range = try chosen(range(of: order, definition), order)
            // Looks for damage of the cache before anything is printed: a cache that is found damaged is rebuilt, and
            // this body is called again.
            try order.prove(sections: range.sections, rows: range.rows)
            do {
                try print(order, outcome, definition, range, columns)
                // The cache is caught up after this body returns.
                if case .caughtUp = order.outcome { try Output.settle() } else { try Output.flush() }
            } catch  where error.isDamage {
                throw Failure("\(error); the output is incomplete")
            }
        }
    }

    private func print(
        _ plan: FetchPlan, _ order: FetchedOrder, _ outcome: OutcomeReport, _ definition: OrderDefinition
    ) throws {
        // If nothing filters, sorts or groups, the first rows are the objects with the lowest numbers, and only their
        // records are read.
        let hasAllByNumber =
            definition.predicate == nil && definition.sortKeys.isEmpty && definition.sectionKey == nil
            && definition.aggregates.isEmpty
        let firstRows = hasAllByNumber ? limit.map { rows(upTo: $0) } : nil
        let report = PlanReport(plan, order, cacheName: cacheName, outcome, firstRows: firstRows)
        if isJSON { try Output.jsonLine(report) } else { report.lines.forEach(Output.line) }
    }

    /// Returns the definition that the options, or the cache's stored request, describe.
    private mutating func definition(in container: PersistentContainer) throws -> OrderDefinition {
        var request = request
        if let distinct {
            request.section = distinct
            request.sectionOrder = request.sectionOrder ?? "count"
        }
        if let requestName { return try named(requestName, request, in: container) }
        if let cacheName {
            if let stored = try request.definition(of: entity, cache: cacheName, in: container) { return stored }
            if entity == nil && request.isEmpty { throw CacheError.unknown(cacheName) }
        }
        return try request.definition(of: container.model().entity(orOnly: entity).name)
    }

    /// The definition of a named request, with the options' order and further condition.
    private mutating func named(
        _ name: String, _ options: RequestOptions, in container: PersistentContainer
    ) throws -> OrderDefinition {
        let texts = try values.map { text in
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, !parts[0].isEmpty else {
                throw ValidationError("--with expects NAME=VALUE, not \"\(text)\".")
            }
            return (parts[0], parts[1])
        }
        let names = texts.map(\.0)
        if let twice = names.first(where: { name in names.count { $0 == name } > 1 }) {
            throw ValidationError("--with has two values of \(twice).")
        }
        let request = try container.request(named: name, reading: Dictionary(texts) { first, _ in first })
        if request.fetchLimit > 0 { limit = min(limit ?? .max, request.fetchLimit) }
        var definition = try options.definition(of: request.entityName)
        let conditions = [request.predicate, definition.predicate].compactMap { $0 }
        definition.predicate = conditions.isEmpty ? nil : FetchPredicate(allOf: conditions)
        return definition
    }

    private func printCount(_ definition: OrderDefinition, _ container: PersistentContainer) throws {
        var request = FetchRequest<ManagedObject>(entityName: definition.entity, predicate: definition.predicate)
        request.includesSubentities = definition.includesSubentities
        // Only a named request has a limit here.
        let count = min(try container.newContext().count(for: request), limit ?? .max)
        if isJSON { return try Output.jsonLine(["count": count]) }
        Output.line("\(count)")
    }

    /// The maximum number of rows to print; nil if all are printed.
    private var rowLimit: Int? {
        if !choice.isEmpty { return nil }
        return hasOnlySections || explain ? 0 : limit ?? (output == .table ? Self.defaultTableLimit : nil)
    }

    /// The number of rows from the order's first row to the last row to print; at least one more than the offset.
    private var mostRows: Int {
        rowLimit.map { rows(upTo: max(1, $0)) } ?? .max
    }

    private func rows(upTo limit: Int) -> Int {
        let (most, isTooMany) = offset.addingReportingOverflow(limit)
        return isTooMany ? .max : most
    }

    private func range(of order: FetchedOrder, _ definition: OrderDefinition) throws -> FetchedRange {
        let isTable = output == .table
        if let inSection {
            let (index, section) = try order.requireSection(
                named: inSection, SectionTitles(definition.sectionKey, order))
            return FetchedRange(index, section, rowOffset: offset, rowLimit: rowLimit)
        }
        let tableSections = hasOnlySections || choice.percentile != nil ? nil : Self.defaultTableSections
        return FetchedRange(
            of: order, sectionOffset: sectionOffset,
            sectionLimit: output.catalogue != nil && !hasOnlySections
                ? 0 : sectionLimit ?? (isTable ? tableSections : nil),
            rowOffset: offset, rowLimit: rowLimit)
    }

    private func chosen(_ range: FetchedRange, _ order: FetchedOrder) throws -> FetchedRange {
        let range = try choice.rowPart().map { FetchedRange(of: order, $0) } ?? range
        return choice.sample.map { range.sampled($0, seed: choice.seed ?? 0, order) } ?? range
    }

    private func print(
        _ order: FetchedOrder, _ outcome: OutcomeReport, _ definition: OrderDefinition, _ range: FetchedRange,
        _ columns: [FetchedColumn]
    ) throws {
        if let format = output.catalogue, hasOnlySections {
            return try FetchSectionWriter(order: order, format: format, definition: definition).print(range.sections)
        }
        if let format = output.catalogue {
            return try FetchRowWriter(order: order, format: format, columns: columns).print(range)
        }
        if isJSON {
            let printer = FetchJSONPrinter(order: order, definition: definition, columns: columns)
            return try printer.print(outcome, range)
        }
        let printer = FetchTablePrinter(
            order: order, definition: definition, columns: columns, distinct: distinct)
        try printer.printSummary(outcome, range)
        if hasOnlySections { return }
        if definition.sectionKey != nil { Output.line("") }
        try printer.printRows(range, hints: limit == nil && choice.isEmpty)
    }
}
