internal import ArgumentParser

struct BrowseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "browse",
        abstract: "Show the store and its caches on a live page, for browsers on this machine, until interrupted.",
        discussion: """
            The page's address, which contains a secret, is printed. The store is not changed: caches that are behind are \
            caught up in memory. The server is a separate program, fetchindex-browse, in the folder of fetchindex.

            Example: fetchindex browse books.store --port 8080
            """)

    @OptionGroup var store: StoreArgument
    @Option(help: "The port on 127.0.0.1; a free one by default.") var port: UInt16 = 0
    @OptionGroup var output: OutputOption

    func run() throws {
        try CompanionProgram(name: "fetchindex-browse", purpose: "the live page's program").run([
            "browse", "--port", "\(port)", "--output", output.output.rawValue, "--", store.store,
        ])
    }
}
