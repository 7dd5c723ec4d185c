internal import FetchIndexTerminal
internal import FetchIndex
internal import FetchIndexEssentials
internal import ArgumentParser
internal import FetchIndexInspection

struct CacheListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List all caches and whether they are fresh.",
        discussion: "Example: fetchindex cache list books.store")

    @OptionGroup var store: StoreArgument
    @Flag(
        help: """
            Add the fingerprints of the caches that were fetched with --aggregate fingerprint, at the commits of the \
            caches: they are equal in two stores if all rows have the same values.
            """)
    var fingerprint = false
    @OptionGroup var output: OutputOption

    func run() throws {
        let container = try store.open(forWriting: false)
        let state = try container.pinnedState()
        let reports = try state.cacheNames().map { name in
            var report = try CacheReport(name, in: state)
            if fingerprint { report.fingerprint = try state.storedOrder(ofCache: name)?.fingerprint() }
            return report
        }
        if output.isJSON { return try Output.jsonLine(reports) }
        let bookmarks = try container.bookmarks()
        defer { for bookmark in bookmarks { Output.line("bookmark \(bookmark.name.visible) \(bookmark.place)") } }
        if reports.isEmpty { return Output.noCaches() }
        if fingerprint { return Self.printFingerprints(reports) }
        var table = TextTable([
            .init(title: "cache"), .init(title: "state"), .init(title: "rows", isNumber: true),
            .init(title: "sections", isNumber: true), .init(title: "size", isNumber: true),
            .init(title: "hits", isNumber: true),
            .init(title: "caught up", isNumber: true), .init(title: "built", isNumber: true), .init(title: "updated"),
        ])
        for report in reports {
            table.append([
                report.name, report.state + report.marks,
                report.rows.map(Numbers.grouped) ?? "",
                report.sections.map(Numbers.grouped) ?? "",
                Numbers.bytes(report.bytes), "\(report.hits)", report.catchUps.map(String.init) ?? "",
                report.builds.map(String.init) ?? "", report.updated ?? "",
            ])
        }
        table.finish()
    }

    /// Prints fewer columns, so that a fingerprint fits into a line.
    private static func printFingerprints(_ reports: [CacheReport]) {
        var table = TextTable([
            .init(title: "fingerprint"), .init(title: "rows", isNumber: true), .init(title: "cache"),
            .init(title: "state"),
        ])
        for report in reports {
            table.append([
                report.fingerprint ?? "–", report.rows.map(Numbers.grouped) ?? "", report.name,
                report.state + report.marks,
            ])
        }
        table.finish()
    }
}
