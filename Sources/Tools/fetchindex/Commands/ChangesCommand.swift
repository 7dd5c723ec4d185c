internal import FetchIndexTerminal
internal import FetchIndex
internal import ArgumentParser
internal import FetchIndexCatalogues
internal import FetchIndexModels
internal import FetchIndexInspection

struct ChangesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "changes",
        abstract: "Print what changed in a cached order since it was last current, or since any earlier point.",
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
            cache stays as it is. Each of several consumers has a bookmark of its own, and moves it with --advance. --until ends \
            the changes at an earlier point than now. With --entity and without --cache, the changes of all objects of the \
            entity are printed, whatever their order.

            Example: fetchindex changes books.store --cache 'by publisher' --since mail --advance
            """)

    @OptionGroup var store: StoreArgument
    @Option(name: .customLong("cache"), help: "The cache's name.") var cacheName: String?
    @Option(help: "The entity; the cache's own by default.") var entity: String?
    @OptionGroup var request: RequestOptions
    @OptionGroup var timeout: TimeoutOption
    @Option(
        help: ArgumentHelp(
            "Print the changes since this point, also if others have read them.",
            discussion: "A bookmark, the number of a commit, or a time in ISO 8601. The cache isn't changed."),
        transform: StorePoint.parse)
    var since: StorePoint?
    @Option(
        help: "Print the changes until this point, which is as for --since, instead of those until now.",
        transform: StorePoint.parse)
    var until: StorePoint?
    @Flag(help: "Move the bookmark of --since to the printed state, once the output is written.") var advance = false
    @Flag(help: "Print only the numbers of changed rows, by section.") var summary = false
    @Flag(help: "Exit with code 3 if nothing has changed.") var ifChanged = false
    @Option(help: "In html and markdown, the maximum number of rows of each kind, and of sections.") var limit = 100
    @Option(
        help: "A table for people, JSON for programs, only the changed rows as JSON lines, CSV or TSV, or a report.")
    var output = ChangesFormat.table

    func validate() throws {
        if advance, bookmark == nil { throw ValidationError("--advance moves a bookmark, which --since must name.") }
        if until != nil && since == nil { throw ValidationError("--until needs --since.") }
        if summary && output != .table && output != .json { throw ValidationError("A summary is a table or JSON.") }
        if limit < 0 { throw ValidationError("--limit must not be negative.") }
        guard cacheName == nil else { return }
        if entity == nil || since == nil {
            throw ValidationError("Pass --cache with a cache's name, or --entity and --since.")
        }
        if !request.isEmpty || summary {
            throw ValidationError("The options of an order need --cache.")
        }
    }

    private var bookmark: String? { if case .bookmark(let name)? = since { name } else { nil } }

    func run() throws {
        let container = try store.open(forWriting: advance)
        let isEmpty: Bool
        if let cacheName {
            let definition = try request.definition(ofExisting: cacheName, entity: entity, in: container)
            isEmpty =
                try since.map { try printChanges(of: definition, cacheName, since: $0, in: container) }
                ?? printUnread(of: definition, cacheName, in: container)
        } else if let since, let entity {
            isEmpty = try printObjects(of: entity, since: since, in: container)
        } else {
            return
        }
        if ifChanged, isEmpty { throw NothingChanged() }
    }

    /// Prints the net changes of an entity's objects between two points. Returns whether none has changed.
    private func printObjects(
        of entity: String, since point: StorePoint, in container: PersistentContainer
    ) throws -> Bool {
        let report = try ObjectChangeReport(entity: entity, as: output, most: limit)
        do {
            let (first, last) = try container.forEachChange(
                ofEntity: entity, since: point, until: until, report.print)
            try report.end(since: first, until: last)
            try Output.settle()
            let linked = try container.countOfOnlyLinked(ofEntity: entity, from: first, to: last)
            Self.warn(ofOnlyRelated: report.onlyRelatedCount, ofOnlyLinked: linked)
            try move(from: first, to: last, in: container)
            return report.count + linked == 0
        } catch StoreError.logTooShort {
            throw try unreachable(point, in: container)
        }
    }

    /// Warns of objects whose values haven't changed, but their relationships.
    private static func warn(ofOnlyRelated related: Int, ofOnlyLinked linked: Int) {
        var parts: [String] = []
        if related > 0 {
            parts.append(
                "only relationships of \(Numbers.count(related, "printed object")) changed, not values")
        }
        if linked > 0 {
            parts.append("many-to-many relationships of \(Numbers.count(linked, "other object")) changed")
        }
        if !parts.isEmpty { Output.error(parts.joined(separator: "; ")) }
    }

    /// Moves the bookmark of `--since`, if asked to.
    private func move(from first: UInt64, to last: UInt64, in container: PersistentContainer) throws {
        guard advance, let bookmark else { return }
        try container.moveBookmark(
            named: bookmark, from: first, to: last, limit: timeout.limit ?? .seconds(5))
    }

    /// The sentence for points between which the log doesn't have all changes.
    private func unreachable(_ point: StorePoint, in container: PersistentContainer) throws -> Failure {
        let state = try container.pinnedState()
        if let until, let last = try? state.commit(of: until) {
            if last > state.commit { return try until.unreachable(in: container) }
            if let first = try? state.commit(of: point), first > last, first <= state.commit {
                return Failure("the point of --until, commit \(last), is before that of --since, commit \(first)")
            }
        }
        return try point.unreachable(in: container)
    }

    /// Prints what has changed since a point. Returns whether nothing has.
    private func printChanges(
        of definition: OrderDefinition, _ cacheName: String, since point: StorePoint, in container: PersistentContainer
    ) throws -> Bool {
        let bar = ProgressBar("building")
        let start = ContinuousClock.now
        let options = request.orderOptions(cacheName: cacheName, bar, author: "changes")
        do {
            return try container.withOrder(definition, options, since: point, until: until) { order, change in
                let first = try order.commit(of: point)
                let last = try until.map(order.commit(of:)) ?? order.commit
                let details = ChangeDetails(definition, order, since: first, withValues: output != .table)
                let report = ChangeReport(change, ContinuousClock.now - start, details)
                bar.finish()
                let isKnown = try print(report, of: cacheName, definition, order, change, since: first)
                try Output.settle()
                if !isKnown { throw Failure() }
                try move(from: first, to: last, in: container)
                return change.isEmpty
            }
        } catch StoreError.logTooShort {
            throw try unreachable(point, in: container)
        }
    }

    /// Prints what has changed since the cache was last current, and catches up the cache. Returns whether nothing has
    /// changed.
    private func printUnread(
        of definition: OrderDefinition, _ cacheName: String, in container: PersistentContainer
    ) throws -> Bool {
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
                var change = ResultsChange()
                if case .caughtUp(let found) = order.outcome { change = found }
                isKnown = try print(report, of: cacheName, definition, order, change, since: nil)
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
    private func print(
        _ report: ChangeReport, of cacheName: String, _ definition: OrderDefinition, _ order: FetchedOrder,
        _ change: ResultsChange, since first: UInt64?
    ) throws -> Bool {
        if summary, report.isKnown {
            try report.summary(of: change, order).print(ofCache: cacheName, asJSON: output == .json)
            return true
        }
        guard output.catalogue != nil || output.isReport else {
            try printWhole(report)
            return true
        }
        guard report.isKnown else {
            Output.error(
                "\(report.outcome.sentence): the changes of \"\(cacheName)\" are unknown; fetch its rows again")
            return false
        }
        if let format = output.catalogue {
            try report.printRows(as: format)
        } else {
            let span = first.map { "from commit \(Numbers.grouped(Int(clamping: $0))) to " } ?? "until "
            var document = ChangeDocument(
                title: cacheName.visible, subtitle: "\(span)commit \(Numbers.grouped(Int(clamping: order.commit)))",
                most: limit)
            try document.add(change, order, definition, since: first)
            try document.print(as: output)
        }
        return true
    }

    private func printWhole(_ report: ChangeReport) throws {
        if output == .json { return try report.printJSON() }
        if report.isKnown { Output.line(report.outcome.sentence) }
        try report.printLines()
    }
}
