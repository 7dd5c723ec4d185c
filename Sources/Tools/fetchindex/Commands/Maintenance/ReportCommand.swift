internal import ArgumentParser

struct ReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Write the inspection report: one page of HTML about the store and its caches.",
        discussion: """
            The page needs no other file and no network. The store is not changed. A separate program, fetchindex-browse, in \
            the folder of fetchindex, writes it.

            Example: fetchindex report books.store --out report.html
            """)

    @OptionGroup var store: StoreArgument
    @Option(help: "The file to write; standard output by default.") var out: String?
    @Flag(help: "Compare each cache with a newly computed order; the exit code is 1 if a cache is wrong.")
    var verify = false

    func run() throws {
        try CompanionProgram(name: "fetchindex-browse", purpose: "the program that writes pages").run(
            ["report"] + (out.map { ["--out=\($0)"] } ?? []) + (verify ? ["--verify"] : []) + ["--", store.store])
    }
}
