#if canImport(Glibc)
    // `stdout` and `stderr` are variables to Swift, which nothing here changes.
    @preconcurrency internal import Glibc
#else
    internal import Darwin
#endif
internal import ArgumentParser
internal import Dispatch
internal import Files
internal import FetchIndex
internal import InspectionPage
internal import SystemBasics
internal import Wording

/// `fetchindex browse` runs this program: a program of its own, so that the tool for jobs links no server.
struct BrowseTool: ParsableCommand {
    enum OutputFormat: String, ExpressibleByArgument, CaseIterable {
        case table
        case json
    }

    static let configuration = CommandConfiguration(
        commandName: "fetchindex-browse",
        abstract: "Show a store and its caches on a live page, for browsers on this machine, until interrupted.",
        discussion: """
            The page's address, which holds a secret, is printed. Nothing in the store is changed: caches that are behind are \
            caught up in memory.
            """)

    @Argument(help: "The store's folder.") var store: String
    @Option(help: "The port on 127.0.0.1; a free one by default.") var port: UInt16 = 0
    @Option(help: "A table for people, or JSON for programs.") var output = OutputFormat.table

    func run() async throws {
        let output = output
        let serving = Task { [store, port] in
            try await PageServer.run(storeAt: store, port: port) { address in
                let line =
                    output == .json ? "{\"address\":\"\(address)\"}" : "the page is at \(address) until interrupted"
                // It may be read by a program that waits for it.
                guard fputs(line + "\n", stdout) >= 0, fflush(stdout) == 0 else {
                    throw Failure(description: "standard output cannot be written: \(SystemError.last.description)")
                }
            }
        }
        let signals = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                serving.cancel()
                // A second one does not wait.
                signal(number, SIG_DFL)
            }
            source.resume()
            return source
        }
        defer { for source in signals { source.cancel() } }
        do { try await serving.value } catch is CancellationError {}
    }
}

struct Failure: Error, CustomStringConvertible {
    let description: String
}

/// Exit codes: 0 interrupted, 1 the store or the port cannot be used, 2 wrong usage.
@main
enum Main {
    static func main() async {
        Descriptors.openMissingStandard()
        signal(SIGPIPE, SIG_IGN)
        Descriptors.raiseLimit()
        do {
            try await BrowseTool.parse().run()
        } catch {
            exit(report(error))
        }
    }

    private static func report(_ error: any Error) -> Int32 {
        switch BrowseTool.exitCode(for: error) {
        case .success:
            print(BrowseTool.fullMessage(for: error))
            return 0
        case .validationFailure:
            fputs("fetchindex-browse: \(BrowseTool.message(for: error).withoutControls)\n", stderr)
            return 2
        default:
            fputs("fetchindex-browse: \("\(error)".visible)\n", stderr)
            return 1
        }
    }
}
