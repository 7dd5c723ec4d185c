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

    static func line(_ text: String) { write(text + "\n") }

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

    static func errorLines(_ text: String) { errorText(text + "\n") }

    static func errorText(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { systemWrite(2, $0.baseAddress, $0.count) }
            if written <= 0 { return }
            rest = rest.dropFirst(written)
        }
    }

    static func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
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
