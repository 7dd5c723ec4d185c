#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif
#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// The tool's standard output, which is buffered, and standard error, which is not.
enum Output {
    static func write(_ text: String) { print(text, terminator: "") }

    /// Bytes as they are, after all text so far.
    static func bytes(_ bytes: [UInt8]) throws {
        guard flush(), write(bytes[...], to: 1) else {
            throw Failure("the output cannot be written: \(String(cString: strerror(errno)))")
        }
    }

    /// False when the file takes no more.
    private static func write(_ bytes: ArraySlice<UInt8>, to file: Int32) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { systemWrite(file, $0.baseAddress, $0.count) }
            if written < 0 && errno == EINTR { continue }
            if written <= 0 { return false }
            rest = rest.dropFirst(written)
        }
        return true
    }

    /// Text for people. What may have line ends of its own, from a store or a file, is made `visible` before.
    static func line(_ text: String) { write(text.withoutControls + "\n") }

    /// False when something that was written did not reach its file.
    @discardableResult
    static func flush() -> Bool { fflush(nil) == 0 }

    /// One sentence on standard error. Paths and names in it may hold anything: what a terminal would obey is blanked.
    static func error(_ sentence: String) {
        var plain = ""
        for scalar in sentence.unicodeScalars {
            let isControl = [.control, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
            plain.unicodeScalars.append(isControl ? " " : scalar)
        }
        errorLines("fetchindex: " + plain)
    }

    static func errorLines(_ text: String) { errorText(text.withoutControls + "\n") }

    static func errorText(_ text: String) { _ = write(Array(text.utf8)[...], to: 2) }

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

#if canImport(Glibc)
    private let systemWrite = Glibc.write
#else
    private let systemWrite = Darwin.write
#endif
