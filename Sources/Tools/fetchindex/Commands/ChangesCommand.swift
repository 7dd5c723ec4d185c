internal import FetchIndexTerminal
internal import FetchIndex
internal import ArgumentParser
internal import FetchIndexCatalogues
internal import FetchIndexModels
internal import FetchIndexInspection

struct ChangesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "changes",
        abstract: "Print what changed in a cached order since the cache was last current, and catch up the cache.",
        discussion: """
            table and json have sections and rows. jsonl, csv and tsv have only rows, one per line: kind, id, key, entity, old \
            and new section and row, old and new values of the object as JSON objects, and the names of the sections. If the cache \
            had to be rebuilt, the changes are unknown: these formats then print an error, and the exit code is 1. The next call \
            prints the changes since the rebuild.

            The cache is caught up after all changes are written: if a full disk or a closed pipe loses them, they are printed \
            again the next time. If another process is writing, the changes are printed immediately, and storing the cache waits \
            for that process, for five seconds or --timeout. If that is too short, a warning says that the changes will be printed \
            again.

            With --since, the changes since a bookmark, a commit or a time are printed, also if others have read them, and the \
            cache stays as it is. Each of several consumers has a bookmark of its own, and moves it with --advance.

            Example: fetchindex changes books.store --cache 'by publisher' --since mail --advance
            """)

    @OptionGroup var store: StoreArgument
    @Option(name: .customLong("cache"), help: "The cache's name.") var cacheName: String
    @Option(help: "The entity; the cache's own by default.") var entity: String?
    @OptionGroup var request: RequestOptions
    @OptionGroup var timeout: TimeoutOption
    @Option(
        help: ArgumentHelp(
            "Print the changes since this point, also if others have read them.",
            discussion: "A bookmark, the number of a commit, or a time in ISO 8601. The cache isn't changed."),
        transform: StorePoint.parse)
    var since: StorePoint?
    @Flag(help: "Move the bookmark of --since to the printed state, once the output is written.") var advance = false
    @Flag(help: "Exit with code 3 if nothing has changed.") var ifChanged = false
    @Option(help: "A table for people, JSON for programs, or only the changed rows as JSON lines, CSV or TSV.")
    var output = FetchFormat.table

    func validate() throws {
        if advance, bookmark == nil { throw ValidationError("--advance moves a bookmark, which --since must name.") }
    }

    private var bookmark: String? { if case .bookmark(let name)? = since { name } else { nil } }

    func run() throws {
        let container = try store.open(forWriting: advance)
        let definition = try request.definition(ofExisting: cacheName, entity: entity, in: container)
        let isEmpty =
            try since.map { try printChanges(of: definition, since: $0, in: container) }
            ?? printUnread(of: definition, in: container)
        if ifChanged, isEmpty { throw NothingChanged() }
    }

    /// Prints what has changed since a point. Returns whether nothing has.
    private func printChanges(
        of definition: OrderDefinition, since point: StorePoint, in container: PersistentContainer
    ) throws -> Bool {
        let bar = ProgressBar("building")
        let start = ContinuousClock.now
        let options = request.orderOptions(cacheName: cacheName, bar, author: "changes")
        do {
            return try container.withUnchangedOrder(definition, options) { order in
                let first = try order.commit(of: point)
                let change = try order.changes(since: .commit(first))
                let details = ChangeDetails(definition, order, since: first, withValues: output != .table)
                let report = ChangeReport(change, ContinuousClock.now - start, details)
                bar.finish()
                let isKnown = try print(report)
                try Output.settle()
                if advance, let bookmark {
                    try container.moveBookmark(
                        named: bookmark, from: first, to: order.commit, limit: timeout.limit ?? .seconds(5))
                }
                if !isKnown { throw Failure() }
                return change.isEmpty
            }
        } catch StoreError.logTooShort {
            throw try point.unreachable(in: container)
        }
    }

    /// Prints what has changed since the cache was last current, and catches up the cache. Returns whether nothing has
    /// changed.
    private func printUnread(of definition: OrderDefinition, in container: PersistentContainer) throws -> Bool {
        let bar = ProgressBar("building")
        let start = ContinuousClock.now
        var options = request.orderOptions(cacheName: cacheName, bar, author: "changes", needsExactChange: true)
        options.writeTimeout = timeout.limit
        var isPrinted = false
        var isKnown = true
        var isEmpty = false
        do {
            try container.withOrder(definition, options) { order in
                let duration = ContinuousClock.now - start
                let details = ChangeDetails(definition, order, withValues: output != .table)
                isEmpty = order.outcome == .hit
                let report = ChangeReport(order.outcome, duration, details)
                bar.finish()
                isKnown = try print(report)
                // The cache is caught up after this body returns.
                try Output.settle()
                isPrinted = true
            }
        } catch StoreError.writerBusy where isPrinted {
            Output.warnOfRepetition(by: cacheName)
        }
        // Throws after the cache was rebuilt, so that the next call knows the changes since then.
        if !isKnown { throw Failure() }
        return isEmpty
    }

    /// Prints the report. If the format has only rows and the changes are unknown, prints an error instead, and returns
    /// false.
    private func print(_ report: ChangeReport) throws -> Bool {
        guard let format = output.catalogue else {
            try printWhole(report)
            return true
        }
        guard report.isKnown else {
            Output.error(
                "\(report.outcome.sentence): the changes of \"\(cacheName)\" are unknown; fetch its rows again")
            return false
        }
        try report.printRows(as: format)
        return true
    }

    private func printWhole(_ report: ChangeReport) throws {
        if output == .json { return try report.printJSON() }
        if report.isKnown { Output.line(report.outcome.sentence) }
        try report.printLines()
    }
}

extension ChangeReport {
    private static let columns = [
        "kind", "id", "key", "entity", "fromSection", "fromRow", "toSection", "toRow", "old",
        "new", "fromSectionName", "toSectionName",
    ]

    /// Prints a line for each changed row, in CSV and TSV below a header.
    fileprivate func printRows(as format: CatalogueFormat) throws {
        if format == .jsonl {
            return try forEachPiece { rows in for row in rows { try Output.jsonLine(row) } }
        }
        do {
            var writer = try CatalogueWriter(format, columns: Self.columns)
            try forEachPiece { rows in
                for row in rows { try Self.write(row, to: &writer) }
                try writer.writeOutPiece()
            }
            Output.bytes(writer.bytes)
        } catch let error as CatalogueWriter.Unwritable {
            throw Failure("\(Self.columns[error.column]): \(error.reason); the output is incomplete")
        }
    }

    private static func write(_ row: RowEvent, to writer: inout CatalogueWriter) throws {
        try writer.append(.string(row.kind))
        try writer.append(.integer(Int64(row.id)))
        try writer.append(row.key.map { .string($0.text) } ?? .null)
        try writer.append(row.entity.map { .string($0) } ?? .null)
        for place in [row.from?.first, row.from?.last, row.to?.first, row.to?.last] {
            try writer.append(place.map { .integer(Int64($0)) } ?? .null)
        }
        for values in [row.old, row.new] {
            try writer.append(try values.map { .string(try Output.json($0)) } ?? .null)
        }
        for name in [row.fromSectionName, row.toSectionName] { try writer.append(name?.value ?? .null) }
        try writer.endRow()
    }
}
