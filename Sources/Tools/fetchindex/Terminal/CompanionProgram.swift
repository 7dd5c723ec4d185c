internal import FetchIndexTerminal
internal import FetchIndexCLibrary

/// A program of this package, in the tool's folder, for a command that needs libraries which the tool doesn't link.
struct CompanionProgram {
    let name: String
    /// A description of the program, for the message that it is missing.
    let purpose: String

    /// Replaces this process by the program. Throws if that fails.
    func run(_ arguments: [String]) throws -> Never {
        var pointers: [UnsafeMutablePointer<CChar>?] = ([name] + arguments).map { strdup($0) }
        pointers.append(nil)
        defer { for pointer in pointers { free(pointer) } }
        guard let path else { throw Failure("the path of this program is unknown") }
        execv(path, &pointers)
        throw Failure(
            errno == ENOENT
                ? "\(purpose), \(name), is missing from the folder of fetchindex; `swift build -c release --product \(name)` builds it"
                : "\(path) cannot be run: \(String(cString: strerror(errno)))")
    }

    /// The program's path, in the folder of this executable.
    private var path: String? {
        #if os(Linux)
            let own = "/proc/self/exe"
        #else
            let own = CommandLine.arguments[0]
        #endif
        guard let resolved = realpath(own, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved).split(separator: "/", omittingEmptySubsequences: false).dropLast()
            .joined(separator: "/") + "/" + name
    }
}
