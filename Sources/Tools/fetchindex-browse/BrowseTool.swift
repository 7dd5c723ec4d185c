internal import ArgumentParser
@preconcurrency internal import FetchIndexCLibrary
internal import FetchIndexInspection
internal import FetchIndexPlatform
internal import FetchIndexTerminal

/// The program that `fetchindex browse` and `fetchindex report` start. It is a separate program, so that `fetchindex`
/// links neither a server nor templates, whose libraries need all of Foundation: 50 MB.
struct BrowseTool: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetchindex-browse", abstract: "The pages of `fetchindex browse`, `report` and `changes`.",
        subcommands: [PageCommand.self, ReportCommand.self, ChangesCommand.self])
}

/// Exit codes: 0 done or interrupted, 2 wrong usage, 1 other errors.
@main
enum Main {
    // `main` isn't async: the main thread waits for signals, and must block them before other threads start.
    static func main() {
        Descriptors.openMissingStandard()
        signal(SIGPIPE, SIG_IGN)
        Descriptors.raiseLimit()
        var status: Int32 = 0
        do {
            var command = try BrowseTool.parseAsRoot()
            try command.run()
        } catch {
            status = BrowseTool.report(error)
        }
        fflush(stdout)
        // Unlike `exit`, `_exit` doesn't destroy global state that other threads may still use.
        _exit(status)
    }
}
