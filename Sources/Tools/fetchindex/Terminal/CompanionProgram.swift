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
        let (process, pipe) = try start(arguments, connecting: STDIN_FILENO)
        // If the program ends early, it says why, and not this one.
        let handler = signal(SIGPIPE, SIG_IGN)
        var rest = input[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { write(pipe, $0.baseAddress, $0.count) }
            if written < 0 && errno != EINTR { break }
            rest = rest.dropFirst(max(0, written))
        }
        close(pipe)
        signal(SIGPIPE, handler)
        try wait(for: process)
    }

    /// Runs the program, waits for its end, and returns its standard output. Throws if it can't be run, or if it fails;
    /// then it has printed why.
    func output(of arguments: [String]) throws -> [UInt8] {
        let (process, pipe) = try start(arguments, connecting: STDOUT_FILENO)
        var output: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = buffer.withUnsafeMutableBytes { read(pipe, $0.baseAddress, $0.count) }
            if count > 0 { output += buffer[..<count] } else if count == 0 || errno != EINTR { break }
        }
        close(pipe)
        try wait(for: process)
        return output
    }

    /// Starts the program with a pipe as its standard input or output, and returns the process and this program's end of
    /// the pipe.
    private func start(_ arguments: [String], connecting stream: Int32) throws -> (process: pid_t, pipe: Int32) {
        guard let path else { throw Failure("the path of this program is unknown") }
        var pointers: [UnsafeMutablePointer<CChar>?] = ([name] + arguments).map { strdup($0) }
        pointers.append(nil)
        defer { for pointer in pointers { free(pointer) } }
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw Failure("\(name) cannot be run: \(String(cString: strerror(errno)))") }
        let (own, other) = stream == STDIN_FILENO ? (ends[1], ends[0]) : (ends[0], ends[1])
        _ = fcntl(own, F_SETFD, FD_CLOEXEC)
        #if canImport(Glibc)
            var actions = posix_spawn_file_actions_t()
        #else
            var actions: posix_spawn_file_actions_t?
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, other, stream)
        if other != stream { posix_spawn_file_actions_addclose(&actions, other) }
        var process: pid_t = 0
        let fault = posix_spawn(&process, path, &actions, nil, pointers, environ)
        close(other)
        guard fault == 0 else {
            close(own)
            throw missing(fault, path)
        }
        return (process, own)
    }

    private func wait(for process: pid_t) throws {
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 && errno == EINTR {}
        // The lowest seven bits have the signal that ended the process (waitpid).
        if status & 0x7F != 0 { throw Failure("\(name) was ended by signal \(status & 0x7F)") }
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
