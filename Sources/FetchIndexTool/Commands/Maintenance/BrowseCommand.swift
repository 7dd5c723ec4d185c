internal import ArgumentParser
internal import SystemBasics

struct BrowseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "browse",
        abstract: "Show the store and its caches on a live page, for browsers on this machine, until interrupted.",
        discussion: """
            The page's address, which holds a secret, is printed. Nothing in the store is changed: caches that are behind are \
            caught up in memory. The server is a program of its own, fetchindex-browse, beside this one.
            """)

    private static let program = "fetchindex-browse"

    @OptionGroup var store: StoreArgument
    @Option(help: "The port on 127.0.0.1; a free one by default.") var port: UInt16 = 0
    @OptionGroup var output: OutputOption

    func run() throws {
        let arguments = [
            Self.program, "--port", "\(port)", "--output", output.output.rawValue, "--", store.store,
        ]
        guard let path = Self.neighbour else { throw Failure("the path of this program is not known") }
        var pointers: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
        pointers.append(nil)
        defer { for pointer in pointers { free(pointer) } }
        // Returns only when it fails.
        execv(path, &pointers)
        throw Failure(
            errno == ENOENT
                ? "the live page's program \(Self.program) is not beside fetchindex; "
                    + "swift build -c release --product \(Self.program) builds it"
                : "\(path) cannot be run: \(String(cString: strerror(errno)))")
    }

    /// The path of the program beside this one.
    private static var neighbour: String? {
        #if os(Linux)
            let own = "/proc/self/exe"
        #else
            let own = CommandLine.arguments[0]
        #endif
        guard let resolved = realpath(own, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved).split(separator: "/", omittingEmptySubsequences: false).dropLast()
            .joined(separator: "/") + "/" + program
    }
}
