#if canImport(Glibc)
    // `stdout` and `stderr` are variables to Swift, which nothing here changes.
    @preconcurrency internal import Glibc
#else
    internal import Darwin
#endif
internal import FetchIndexPlatform
internal import FetchIndexInspection

/// The tool's standard output, which is buffered, and standard error, which is not.
enum Output {
    static func write(_ text: String) { bytes(Array(text.utf8)) }

    /// Bytes as they are.
    static func bytes(_ bytes: [UInt8]) {
        let written = bytes.withUnsafeBytes { fwrite($0.baseAddress, 1, $0.count, stdout) }
        if written < bytes.count && firstFault == 0 { firstFault = errno }
    }

    /// Why the first write failed. One task writes at a time: a command, or the delegate that it calls.
    nonisolated(unsafe) private static var firstFault: Int32 = 0

    /// Text for people. What may have line ends of its own, from a store or a file, is made `visible` before.
    static func line(_ text: String) { write(text.withoutControls + "\n") }

    /// Writes what is buffered. Throws when that or an earlier write failed: lost output is never exit code 0.
    static func flush() throws {
        errno = 0
        guard fflush(stdout) == 0, ferror(stdout) == 0 else {
            let fault = firstFault == 0 ? errno : firstFault
            let reason = fault == 0 ? "" : ": \(SystemError(rawValue: fault))"
            throw Failure("the output cannot be written\(reason)")
        }
    }

    /// As `flush`; what goes to a file is on disk then. A cache takes what its reader has had only after this.
    static func settle() throws {
        try flush()
        // A pipe or a terminal has no disk.
        errno = 0
        guard fsync(1) == 0 || [EINVAL, EROFS, ENOTSUP].contains(errno) else {
            throw Failure("the output cannot be written: \(String(cString: strerror(errno)))")
        }
    }

    /// One sentence on standard error. Paths and names in it may hold anything: control characters become spaces.
    static func error(_ sentence: String) {
        errorLines("fetchindex: " + sentence.withBlankControls)
    }

    /// Says that a cache could not take what was printed, because another process writes.
    static func warnOfRepetition(by cacheName: String) {
        error("another process writes, so the cache \"\(cacheName)\" stays behind: this is printed again the next time")
    }

    static func errorLines(_ text: String) { errorText(text.withoutControls + "\n") }

    static func errorText(_ text: String) { fputs(text, stderr) }

    static func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self).withControlsEscaped
    }

    static func jsonLine(_ value: some Encodable) throws { line(try json(value)) }

    static var errorIsTerminal: Bool { isatty(2) == 1 }

    /// Columns of the terminal; 100 elsewhere.
    static var width: Int {
        var size = winsize()
        let isTerminal = ioctl(1, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 20
        return isTerminal ? Int(size.ws_col) : 100
    }
}
