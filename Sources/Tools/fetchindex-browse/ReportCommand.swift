internal import ArgumentParser
internal import FetchIndex
internal import FetchIndexCLibrary
internal import FetchIndexInspectionReport
internal import FetchIndexPlatform
internal import FetchIndexTerminal

/// Writes the inspection report. `fetchindex report` passes its options on.
struct ReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "report", abstract: "Write the inspection report.")

    @Argument var store: String
    @Option var out: String?
    @Flag var verify = false

    func run() throws {
        // What `fetchindex` does with signals: a reader that closes the pipe ends the program, and no unfinished file remains.
        let ending = [SIGINT, SIGTERM, SIGHUP, SIGPIPE]
        signal(SIGPIPE, SIG_DFL)
        UnfinishedFiles.areRemoved(by: ending)
        Signals.unblock(ending)
        let container = try PersistentContainer(storeAt: store, isReadOnly: true, remembersOpenings: false)
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
            try Output.flush()
        }
        if !isSound { throw Failure() }
    }
}
