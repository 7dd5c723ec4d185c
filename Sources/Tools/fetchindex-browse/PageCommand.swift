// Swift imports `stdout` and `stderr` as mutable variables. Nothing here changes them.
@preconcurrency internal import FetchIndexCLibrary
internal import ArgumentParser
internal import FetchIndexPlatform
internal import FetchIndex
internal import FetchIndexInspectionServer
internal import FetchIndexInspection

internal import FetchIndexTerminal

/// Serves the live page.
struct PageCommand: ParsableCommand {
    enum OutputFormat: String, ExpressibleByArgument, CaseIterable {
        case table
        case json
    }

    static let configuration = CommandConfiguration(
        commandName: "browse",
        abstract: "Show a store and its caches on a live page, for browsers on this machine, until interrupted.",
        discussion: """
            The page's address, which contains a secret, is printed. The store is not changed: caches that are behind are \
            caught up in memory.
            """)

    @Argument(help: "The store's folder.") var store: String
    @Option(help: "The port on 127.0.0.1; a free one by default.") var port: UInt16 = 0
    @Option(help: "Text for people, or JSON for programs.") var output = OutputFormat.table

    func run() throws {
        let interruption = Interruption()
        try TaskRuntime.prepare(besides: PageServer.leastDescriptors, until: interruption)
        if interruption.hasCome { return }
        let result = Later<Result<Void, any Error>>()
        let serving = Task { [store, port, output] in
            do {
                try await PageServer.run(storeAt: store, port: port) { try Self.tell($0, output) }
                result.set(.success(()))
            } catch {
                result.set(.failure(error))
            }
            interruption.end()
        }
        interruption.wait()
        if let result = result.value { return try result.get() }
        serving.cancel()
        // Cutting off open responses is harmless, because the program never changes the store. A second signal ends the
        // program immediately.
        interruption.endsAtNext()
        let end = ContinuousClock.now + Self.patience
        while result.value == nil, ContinuousClock.now < end { usleep(Self.pauseInMicroseconds) }
        if case .failure(let error) = result.value, !(error is CancellationError) { throw error }
    }

    private static let (patience, pauseInMicroseconds): (Duration, UInt32) = (.seconds(1), 2000)

    private static func tell(_ address: String, _ output: OutputFormat) throws {
        let line =
            output == .json ? "{\"address\":\"\(address)\"}" : "the page is at \(address) until interrupted"
        // Flushes the line, because a program that reads the output may wait for it.
        guard fputs(line + "\n", stdout) >= 0, fflush(stdout) == 0 else {
            throw Failure("standard output cannot be written: \(SystemError.last.description)")
        }
    }
}
