internal import FetchIndexCLibrary

/// Splits a file into lines. Their ends are LF, CRLF or CR, even mixed, and aren't passed on.
package final class LineSplitter {
    private let input: CatalogueInput
    private let reader: FileReader
    /// The unfinished line at the end of the last piece.
    private var rest: [UInt8] = []
    private var line = 1
    private var isSkippingLine = false
    private var lastWasReturn = false

    package init(_ input: CatalogueInput) throws {
        self.input = input
        reader = try FileReader(input)
    }

    /// The number of the file's bytes that were read so far, and the file's length, which is 0 for a pipe.
    package var progress: (done: Int, total: Int) { (reader.position, reader.length) }

    var decompressesAhead: Bool {
        get { reader.decompressesAhead }
        set { reader.decompressesAhead = newValue }
    }

    /// Calls the body with each remaining line and its number, which counts from 1. A line that is too long is skipped,
    /// and `tooLong` gets its error.
    package func forEachLine(
        _ body: (UnsafeRawBufferPointer, Int) throws -> Void, tooLong: (BadInput) throws -> Void
    ) throws {
        try reader.forEachPiece { try split($0, body, tooLong) }
        if !rest.isEmpty && !isSkippingLine { try rest.withUnsafeBytes { try body($0, line) } }
        rest = []
    }

    private func split(
        _ piece: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer, Int) throws -> Void,
        _ tooLong: (BadInput) throws -> Void
    ) throws {
        var start = lastWasReturn && piece.first == 0x0A ? 1 : 0
        lastWasReturn = false
        var nextFeed = 0
        var nextReturn = 0
        // Local copies: the properties of the object are checked for exclusive access each time.
        let longestLine = input.longestLine
        var number = line
        var hasRest = !rest.isEmpty || isSkippingLine
        defer { line = number }
        while start < piece.count {
            if nextFeed <= start { nextFeed = piece.firstOffset(of: 0x0A, from: start) ?? piece.count }
            if nextReturn <= start { nextReturn = piece.firstOffset(of: 0x0D, from: start) ?? piece.count }
            let end = min(nextFeed, nextReturn)
            let bytes = UnsafeRawBufferPointer(rebasing: piece[start..<end])
            if end < piece.count && !hasRest && bytes.count <= longestLine {
                try body(bytes, number)
            } else {
                try take(bytes, number, isWhole: end < piece.count, body, tooLong)
                hasRest = false
            }
            if end < piece.count { number += 1 }
            start = end + 1
            guard end == nextReturn && end < piece.count else { continue }
            if start == piece.count { lastWasReturn = true }
            if start == nextFeed { start += 1 }
        }
    }

    /// Takes a part of a line: up to its end, or to the end of the piece.
    private func take(
        _ bytes: UnsafeRawBufferPointer, _ line: Int, isWhole: Bool,
        _ body: (UnsafeRawBufferPointer, Int) throws -> Void,
        _ tooLong: (BadInput) throws -> Void
    ) throws {
        if !isSkippingLine && rest.count + bytes.count > input.longestLine {
            isSkippingLine = true
            rest = []
            try tooLong(input.tooLong("the line", line: line))
        }
        if isWhole {
            defer {
                isSkippingLine = false
                rest.removeAll(keepingCapacity: true)
            }
            if isSkippingLine { return }
            if rest.isEmpty { return try body(bytes, line) }
            rest.append(contentsOf: bytes)
            try rest.withUnsafeBytes { try body($0, line) }
        } else if !isSkippingLine {
            rest.append(contentsOf: bytes)
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether a line is empty or has only blanks; among JSON lines both count as empty.
    package var isBlank: Bool { allSatisfy { $0 == 0x20 || $0 == 0x09 } }

    /// Returns the offset of the first such byte at or after `start`, found by memchr.
    func firstOffset(of byte: UInt8, from start: Int) -> Int? {
        guard let base = baseAddress, start < count else { return nil }
        guard let found = memchr(base + start, Int32(byte), count - start) else { return nil }
        return UnsafeRawPointer(found) - base
    }
}
