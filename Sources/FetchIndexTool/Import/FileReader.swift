#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Reads a file in large pieces. A byte-order mark at its start is passed over.
final class FileReader {
    private static let pieceLength = 1 << 20

    let path: String
    let length: Int
    private(set) var position = 0
    private let file: Int32
    private var buffer = [UInt8](repeating: 0, count: FileReader.pieceLength)

    init(_ path: String) throws {
        self.path = path
        file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw Failure("\(path) cannot be opened: \(String(cString: strerror(errno)))") }
        var status = stat()
        fstat(file, &status)
        length = Int(status.st_size)
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw Failure("\(path) is no regular file; a catalogue is read more than once, so save it to a file first")
        }
    }

    deinit { close(file) }

    /// Hands out the next piece; false at the end of the file.
    func readPiece(_ body: (UnsafeRawBufferPointer) throws -> Void) throws -> Bool {
        try buffer.withUnsafeMutableBytes { buffer in
            var count = read(file, buffer.baseAddress, buffer.count)
            while count < 0 && errno == EINTR { count = read(file, buffer.baseAddress, buffer.count) }
            guard count >= 0 else { throw Failure("\(path) cannot be read: \(String(cString: strerror(errno)))") }
            var piece = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            if position == 0 && piece.starts(with: [0xEF, 0xBB, 0xBF]) {
                piece = UnsafeRawBufferPointer(rebasing: piece[3...])
            }
            position += count
            if count == 0 { return false }
            try body(piece)
            return true
        }
    }
}

/// Cuts a file into lines, without their ends (LF or CRLF).
struct LineSplitter {
    private var rest: [UInt8] = []
    private(set) var line = 0

    /// Hands out the lines of a file from the first on.
    mutating func forEachLine(of reader: FileReader, _ body: (UnsafeRawBufferPointer, Int) throws -> Void) throws {
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
