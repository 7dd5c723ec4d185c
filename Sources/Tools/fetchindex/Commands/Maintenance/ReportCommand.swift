internal import FetchIndex
internal import ArgumentParser
internal import FetchIndexInspection

struct ReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Write the inspection report: one page of HTML about the store and its caches.",
        discussion: "The page needs no other file and no network. The store is not changed.")

    @OptionGroup var store: StoreArgument
    @Option(help: "The file to write; standard output by default.") var out: String?
    @Flag(help: "Compare each cache with a newly computed order; the exit code is 1 if a cache is wrong.")
    var verify = false

    func run() throws {
        let container = try store.open(forWriting: false)
        var options = InspectionReport.Options()
        options.verifies = verify
        let bar = ProgressBar("verifying")
        options.progress = { _, done, total in bar.show(rows: done, of: total) }
        let file = try out.map { try ExportFile(at: $0) }
        let (page, isSound) = try InspectionReport(of: container, options).html()
        bar.finish()
        if let file {
            try file.write(Array(page.utf8))
            try file.keep()
        } else {
            Output.write(page)
        }
        if !isSound { throw Failure() }
    }
}
