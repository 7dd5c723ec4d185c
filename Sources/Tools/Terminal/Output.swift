// Swift imports `stdout` and `stderr` as mutable variables. Nothing here changes them.
@preconcurrency internal import FetchIndexCLibrary
internal import FetchIndexEssentials
internal import FetchIndexPlatform
internal import FetchIndexInspection

/// The tool's standard output (buffered) and standard error (unbuffered).
package enum Output {
    package static func write(_ text: String) { bytes(Array(text.utf8)) }

    /// Writes bytes unchanged.
    package static func bytes(_ bytes: [UInt8]) {
        let written = bytes.withUnsafeBytes { fwrite($0.baseAddress, 1, $0.count, stdout) }
        if written < bytes.count && firstFault == 0 { firstFault = errno }
    }

    /// The `errno` of the first failed write. One thread writes at a time: a command, or the delegate that it calls.
    nonisolated(unsafe) private static var firstFault: Int32 = 0

    /// Writes a line for people. Texts from stores and files may contain line ends, so callers should pass them as
    /// `visible`.
    package static func line(_ text: String) { write(text.withoutControls + "\n") }

    /// Writes the buffered output. Throws if this or an earlier write failed, so that the exit code isn't 0 then.
    package static func flush() throws {
        errno = 0
        guard fflush(stdout) == 0, ferror(stdout) == 0 else {
            let fault = firstFault == 0 ? errno : firstFault
            let reason = fault == 0 ? "" : ": \(SystemError(rawValue: fault))"
            throw Failure("the output cannot be written\(reason)")
        }
    }

    /// Like `flush`, but also syncs standard output to disk if it is a file. `fetch`, `changes` and `watch`
    /// store the caught-up order of a cache after this.
    package static func settle() throws {
        try flush()
        // Pipes and terminals can't be synced.
        errno = 0
        guard fsync(1) == 0 || [EINVAL, EROFS, ENOTSUP].contains(errno) else {
            throw Failure("the output cannot be written: \(String(cString: strerror(errno)))")
        }
    }

    /// Writes a sentence to standard error. Paths and names in it may contain control characters, which become spaces.
    package static func error(_ sentence: String) {
        errorLines("fetchindex: " + sentence.withBlankControls)
    }

    /// Warns that the cache is still behind although its changes were printed, because another process is writing.
    package static func warnOfRepetition(by cacheName: String) {
        error(
            "another process is writing, so the cache \"\(cacheName)\" stays behind: these changes will be printed again"
        )
    }

    package static func errorLines(_ text: String) { errorText(text.withoutControls + "\n") }

    package static func errorText(_ text: String) { fputs(text, stderr) }

    package static func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self).withControlsEscaped
    }

    package static func jsonLine(_ value: some Encodable) throws { line(try json(value)) }

    package static var errorIsTerminal: Bool { isatty(2) == 1 }

    /// The width of the terminal in columns; 100 if standard output isn't a terminal, or if the terminal has 20 columns
    /// or less.
    package static var width: Int {
        var size = winsize()
        let isTerminal = ioctl(1, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 20
        return isTerminal ? Int(size.ws_col) : 100
    }
}
