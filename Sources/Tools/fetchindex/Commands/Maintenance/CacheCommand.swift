internal import FetchIndexTerminal
internal import FetchIndex
internal import FetchIndexEssentials
internal import ArgumentParser
internal import FetchIndexInspection

struct CacheCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cache", abstract: "Manage named caches.",
        subcommands: [
            CacheListCommand.self, CacheShowCommand.self, CacheVerifyCommand.self, CacheRebuildCommand.self,
            CacheMaintainCommand.self, CacheLockCommand.self, CacheUnlockCommand.self, CacheDeleteCommand.self,
        ])
}

/// The facts about a cache, as JSON and for tables.
struct CacheReport: Encodable {
    let name: String
    let state: String
    let fresh: Bool
    let maintained: Bool
    let locked: Bool
    let changesBehind: Int?
    /// The last commit that the cache's exact reader, such as `changes`, has received, or the commit of a rebuild that
    /// it hasn't received; nil if nothing is unread.
    let unreadSince: UInt64?
    let commit: UInt64?
    let entity: String?
    let predicate: String?
    let sort: String?
    let section: String?
    let sectionOrder: String?
    let aggregates: String?
    let collation: String?
    let rows: Int?
    let sections: Int?
    let nodes: Int
    let bytes: Int
    let builds: Int?
    let catchUps: Int?
    let hits: Int
    /// The time at which the cache was created, in ISO 8601.
    let created: String?
    /// The time of the last update, in ISO 8601.
    let updated: String?
    /// The time of the last hit, in ISO 8601.
    let lastHit: String?
    var defects: [String]?
    /// The fingerprint of all rows at `commit`; nil if it isn't kept or wasn't asked for.
    var fingerprint: String?

    /// Reads the facts about a cache. Throws `CacheError.unknown` if no cache has this name.
    init(_ cache: String, in state: PinnedState) throws {
        let statistics = try state.statistics(ofCache: cache)
        let facts = statistics.cache
        let (contents, request) = (facts.contents, facts.contents?.request)
        name = facts.name
        fresh = facts.isFresh
        maintained = facts.isMaintained
        locked = facts.isLocked
        changesBehind = facts.changesBehind
        unreadSince = facts.unreadSince
        self.state = facts.state.sentence
        commit = contents?.commit
        entity = request?.entity
        predicate = request?.predicate
        sort = request?.sortKeys
        section = request?.sectionKey
        sectionOrder = request?.sectionOrder
        aggregates = request?.aggregates
        collation = request?.collation
        rows = contents?.rowCount
        sections = contents?.sectionCount
        nodes = statistics.nodeCount
        bytes = statistics.byteCount
        builds = contents?.builds
        catchUps = contents?.catchUps
        hits = facts.hits
        created = (contents?.created).map(Self.text)
        updated = (contents?.updated).map(Self.text)
        lastHit = facts.lastHit.map(Self.text)
    }

    private static func text(_ date: Date) -> String { Clock.iso8601(date.timeIntervalSince1970) }

    /// The marks that tables append to the state, such as ", maintained, locked, unread since commit 7".
    var marks: String {
        NamedCache.marks(isMaintained: maintained, isLocked: locked, unreadSince: unreadSince)
    }
}

struct CacheShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show a cache's request, statistics and sections.",
        discussion: "Example: fetchindex cache show books.store 'by publisher'")

    private static let mostBars = 40

    @OptionGroup var store: StoreArgument
    @Argument(help: "The cache's name.") var name: String
    @OptionGroup var output: OutputOption

    func run() throws {
        let container = try store.open(forWriting: false)
        let state = try container.pinnedState()
        let report = try CacheReport(name, in: state)
        let history = try container.cacheHistory(name)
        let titles = try SectionTitles(ofCache: name, in: state)
        // The chart shows only the first sections; the line "rows" has the number of all.
        let limit = output.isJSON ? Int.max : Self.mostBars
        let sections = try state.storedOrder(ofCache: name)?.sections(limit: limit) ?? []
        if output.isJSON {
            struct Shown: Encodable {
                let cache: CacheReport
                let sections: [SectionReport]
                let history: HistoryReport
            }
            // The index titles of a program's own section key are unknown here, because the store doesn't have its
            // function.
            return try Output.jsonLine(
                Shown(
                    cache: report, sections: sections.map { SectionReport($0, titles) },
                    history: HistoryReport(history)))
        }
        for (name, text) in Self.lines(of: report) { Output.line("\(name.padded(to: 10)) \(text.visible)") }
        if report.section?.isEmpty == false && !sections.isEmpty { Self.printChart(sections, titles, of: report) }
        HistoryReport(history).printTable()
    }

    private static func lines(of report: CacheReport) -> [(String, String)] {
        var lines = [("cache", report.name), ("state", report.state + report.marks)]
        lines += [
            ("entity", report.entity), ("where", report.predicate), ("sort", report.sort), ("section", report.section),
            ("ordered", report.sectionOrder), ("aggregates", report.aggregates),
        ]
        .compactMap { name, text in text.map { (name, $0.isEmpty ? "–" : $0) } }
        lines.append(
            ("rows", "\(Numbers.grouped(report.rows ?? 0)) in \(Numbers.count(report.sections ?? 0, "section"))"))
        lines.append(("size", "\(Numbers.bytes(report.bytes)) in \(Numbers.count(report.nodes, "node"))"))
        lines.append(
            (
                "used",
                "\(Numbers.count(report.hits, "hit")), caught up \(Numbers.count(report.catchUps ?? 0, "time")), "
                    + "built \(Numbers.count(report.builds ?? 0, "time"))"
            ))
        lines.append(("updated", report.updated ?? "–"))
        return lines
    }

    private static func printChart(_ sections: [FetchedSection], _ titles: SectionTitles, of report: CacheReport) {
        Output.line("")
        let bars = sections.map { (name: SectionReport.shownName(titles.title(of: $0)), value: $0.count) }
        for line in BarChart(bars: bars).lines(width: Output.width) { Output.line(line) }
        let left = (report.sections ?? 0) - sections.count
        if left > 0 { Output.line("… \(Numbers.count(left, "more section"))") }
    }
}

struct CacheVerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Compare caches with newly computed orders; the exit code is 1 if a cache is wrong.",
        discussion: "Example: fetchindex cache verify books.store")

    @OptionGroup var store: StoreArgument
    @Argument(help: "The cache's name; all caches by default.") var name: String?
    @OptionGroup var output: OutputOption

    func run() throws {
        let container = try store.open(forWriting: false)
        let names = try name.map { [$0] } ?? container.cacheNames()
        var reports: [CacheReport] = []
        for name in names {
            let bar = ProgressBar("verifying \(name)")
            let defects = try container.verifyCache(name) { bar.show(rows: $0, of: $1) }
            bar.finish()
            var report = try CacheReport(name, in: container.pinnedState())
            report.defects = defects
            reports.append(report)
            if !output.isJSON {
                Output.line("\(name.visible): \(defects.isEmpty ? "sound (\(report.state))" : "wrong")")
                for defect in defects { Output.line("  \(defect.visible)") }
            }
        }
        if output.isJSON { try Output.jsonLine(reports) } else if names.isEmpty { Output.noCaches() }
        if reports.contains(where: { $0.defects?.isEmpty == false }) { throw Failure() }
    }
}

struct CacheRebuildCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rebuild", abstract: "Rebuild a cache, or all caches, from the records.",
        discussion: "Example: fetchindex cache rebuild books.store 'by publisher'")

    @OptionGroup var store: StoreArgument
    @Argument(help: "The cache's name; all caches by default.") var name: String?
    @Flag(help: "Rebuild all caches (the default).") var all = false
    @OptionGroup var threads: ThreadsOption
    @OptionGroup var output: OutputOption

    func validate() throws {
        if all && name != nil { throw ValidationError("Pass a cache's name or --all, not both.") }
    }

    private struct Rebuilt: Encodable {
        let name: String
        let rows: Int
        let outcome: OutcomeReport
    }

    func run() throws {
        let container = try store.open(threads: threads.count)
        let names = try name.map { [$0] } ?? container.cacheNames()
        let bar = ProgressBar(names.count == 1 ? "building \(names[0])" : "building caches")
        let caches = try names.map { name in
            do { return try RequestOptions.existing(name, in: container, bar, author: "rebuild") } catch
                where self.name == nil
            {
                throw Failure("\(name.visible): \(error)")
            }
        }
        var reports: [Rebuilt] = []
        var start = ContinuousClock.now
        try container.refreshCaches(caches, isForced: true) { index, result in
            let rows = try result.get().rowCount
            let outcome = OutcomeReport(FetchOutcome.rebuilt(.requested), ContinuousClock.now - start)
            reports.append(Rebuilt(name: names[index], rows: rows, outcome: outcome))
            start = .now
        }
        bar.finish()
        for report in reports where !output.isJSON {
            Output.line("\(report.name.visible): \(report.outcome.sentence): \(Numbers.count(report.rows, "row"))")
        }
        if output.isJSON { try Output.jsonLine(reports) } else if names.isEmpty { Output.noCaches() }
    }
}

struct CacheMaintainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "maintain", abstract: "Let every writer maintain a cache, so that it does not fall behind.",
        discussion: """
            Writes that change a maintained cache cost more. Indexes are always maintained.

            Example: fetchindex cache maintain books.store 'by publisher'
            """)

    @OptionGroup var store: StoreArgument
    @Argument(help: "The cache's name.") var name: String
    @Flag(help: "Stop maintaining the cache; fetches and `refresh` catch it up instead.") var stop = false
    @OptionGroup var output: OutputOption

    func run() throws {
        try store.open().setMaintained(!stop, cacheNamed: name)
        if output.isJSON { return try Output.jsonLine(["maintained": !stop]) }
        Output.line("\(name.visible) is \(stop ? "no longer " : "")maintained by every writer")
    }
}

struct CacheDeleteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Delete a cache, or all caches except those of indexes.",
        discussion: "Example: fetchindex cache delete books.store 'by publisher'")

    @OptionGroup var store: StoreArgument
    @Argument(help: "The cache's name.") var name: String?
    @Flag(help: "Delete all caches except those of indexes.") var all = false
    @OptionGroup var output: OutputOption

    func validate() throws {
        guard (name == nil) == all else { throw ValidationError("Pass a cache's name, or --all.") }
    }

    func run() throws {
        let container = try store.open()
        let count = try container.deleteCache(named: name)
        if let name, count == 0 { throw try container.unknownCache(name) }
        if output.isJSON { return try Output.jsonLine(["deleted": count]) }
        Output.line("deleted \(count) \(count == 1 ? "cache" : "caches")")
    }
}
