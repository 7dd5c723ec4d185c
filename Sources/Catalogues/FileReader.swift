#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Reads a file in large pieces. A byte-order mark at its start is passed over.
package final class FileReader {
    private static let pieceLength = 1 << 20

    package let path: String
    package let length: Int
    package private(set) var position = 0
    private let file: Int32
    private var buffer = [UInt8](repeating: 0, count: FileReader.pieceLength)

    package init(_ path: String) throws {
        self.path = path
        file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            throw UnreadableFile(path: path, reason: "cannot be opened: \(String(cString: strerror(errno)))")
        }
        var status = stat()
        fstat(file, &status)
        length = Int(status.st_size)
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw UnreadableFile(
                path: path, reason: "is no regular file; a catalogue is read more than once, so save it to a file first"
            )
        }
    }

    deinit { close(file) }

    /// Hands out the next piece; false at the end of the file.
    package func readPiece(_ body: (UnsafeRawBufferPointer) throws -> Void) throws -> Bool {
        try buffer.withUnsafeMutableBytes { buffer in
            var count = read(file, buffer.baseAddress, buffer.count)
            while count < 0 && errno == EINTR { count = read(file, buffer.baseAddress, buffer.count) }
            guard count >= 0 else {
                throw UnreadableFile(path: path, reason: "cannot be read: \(String(cString: strerror(errno)))")
            }
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
