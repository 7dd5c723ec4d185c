#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Cuts a file into lines, without their ends (LF or CRLF).
package struct LineSplitter {
    private var rest: [UInt8] = []
    package private(set) var line = 0

    package init() {}

    /// Hands out the lines of a file from the first on.
    package mutating func forEachLine(
        of reader: FileReader, _ body: (UnsafeRawBufferPointer, Int) throws -> Void
    ) throws {
        while try reader.readPiece({ piece in try split(piece, body) }) {}
        if !rest.isEmpty {
            line += 1
            try rest.withUnsafeBytes { try body(Self.withoutReturn($0), line) }
            rest = []
        }
    }

    private mutating func split(
        _ piece: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer, Int) throws -> Void
    ) throws {
        var start = 0
        while start < piece.count, let end = piece.firstOffset(of: 0x0A, from: start) {
            line += 1
            if rest.isEmpty {
                try body(Self.withoutReturn(UnsafeRawBufferPointer(rebasing: piece[start..<end])), line)
            } else {
                rest.append(contentsOf: piece[start..<end])
                try rest.withUnsafeBytes { try body(Self.withoutReturn($0), line) }
                rest.removeAll(keepingCapacity: true)
            }
            start = end + 1
        }
        rest.append(contentsOf: piece[start...])
    }

    private static func withoutReturn(_ line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        line.last == 0x0D ? UnsafeRawBufferPointer(rebasing: line.dropLast()) : line
    }
}

extension UnsafeRawBufferPointer {
    /// memchr
    func firstOffset(of byte: UInt8, from start: Int) -> Int? {
        guard let base = baseAddress, start < count else { return nil }
        guard let found = memchr(base + start, Int32(byte), count - start) else { return nil }
        return UnsafeRawPointer(found) - base
    }
}
