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
    @OptionGroup var output: OutputOption

    func run() throws {
        let container = try store.open(forWriting: false)
        let state = try container.pinnedState()
        let reports = try state.cacheNames().map { try CacheReport($0, in: state) }
        if output.isJSON { return try Output.jsonLine(reports) }
        let bookmarks = try container.bookmarks()
        defer { for bookmark in bookmarks { Output.line("bookmark \(bookmark.name.visible) \(bookmark.place)") } }
        if reports.isEmpty { return Output.noCaches() }
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
}
