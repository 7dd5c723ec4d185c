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
        throw missing(errno, path)
    }

    /// Runs the program with bytes as its standard input, and waits for its end. Its output is this program's. Throws if
    /// it can't be run, or if it fails; then it has printed why.
    func run(_ arguments: [String], input: [UInt8]) throws {
        guard let path else { throw Failure("the path of this program is unknown") }
        var pointers: [UnsafeMutablePointer<CChar>?] = ([name] + arguments).map { strdup($0) }
        pointers.append(nil)
        defer { for pointer in pointers { free(pointer) } }
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw Failure("\(name) cannot be run: \(String(cString: strerror(errno)))") }
        _ = fcntl(ends[1], F_SETFD, FD_CLOEXEC)
        #if canImport(Glibc)
            var actions = posix_spawn_file_actions_t()
        #else
            var actions: posix_spawn_file_actions_t?
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[0], 0)
        if ends[0] != 0 { posix_spawn_file_actions_addclose(&actions, ends[0]) }
        var process: pid_t = 0
        let fault = posix_spawn(&process, path, &actions, nil, pointers, environ)
        close(ends[0])
        guard fault == 0 else {
            close(ends[1])
            throw missing(fault, path)
        }
        // If the program ends early, it says why, and not this one.
        let handler = signal(SIGPIPE, SIG_IGN)
        var rest = input[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { write(ends[1], $0.baseAddress, $0.count) }
            if written < 0 && errno != EINTR { break }
            rest = rest.dropFirst(max(0, written))
        }
        close(ends[1])
        signal(SIGPIPE, handler)
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 && errno == EINTR {}
        if status != 0 { throw Failure() }
    }

    private func missing(_ fault: Int32, _ path: String) -> Failure {
        Failure(
            fault == ENOENT
                ? "\(purpose), \(name), is missing from the folder of fetchindex; `swift build -c release --product \(name)` builds it"
                : "\(path) cannot be run: \(String(cString: strerror(fault)))")
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
