internal import Administration
internal import ArgumentParser
internal import FetchIndex
internal import Report
internal import SystemBasics

struct ReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Write the inspection report: one page of HTML about the store and its caches.",
        discussion: "The page needs no other file and no network. Nothing in the store is changed.")

    @OptionGroup var store: StoreArgument
    @Option(help: "The file to write; standard output by default.") var out: String?
    @Flag(help: "Compare each cache with an order that is computed anew; takes as long as building all of them.")
    var verify = false

    func run() throws {
        let container = try store.open(forWriting: false)
        var options = InspectionReport.Options()
        options.verifies = verify
        let bar = ProgressBar("verifying")
        options.progress = { _, done, total in bar.show(rows: done, of: total) }
        let file = try out.map { try ExportFile(at: $0) }
        let page = try InspectionReport(of: container, options).html()
        bar.finish()
        guard let file else { return Output.write(page) }
        try file.write(Array(page.utf8))
        try file.keep()
    }
}
