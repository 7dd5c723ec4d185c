internal import SystemBasics

/// Reads a file in pieces. The byte-order mark of UTF-8 at its start is passed over; UTF-16 is refused.
package final class FileReader {
    let path: String
    package let length: Int
    package private(set) var position = 0
    private let input: CatalogueInput
    /// -1 where bytes stand for the file.
    private let file: Int32
    private var buffer: [UInt8]

    package init(_ input: CatalogueInput) throws {
        self.input = input
        path = input.path
        if let bytes = input.bytes {
            file = -1
            length = bytes.count
            buffer = []
        } else {
            // Opening a pipe without a writer must not block.
            file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
            guard file >= 0 else {
                throw UnreadableFile(path: path, reason: "cannot be opened: \(String(cString: strerror(errno)))")
            }
            var status = stat()
            guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
                close(file)
                throw UnreadableFile(
                    path: path,
                    reason: status.st_mode & S_IFMT == S_IFDIR
                        ? "is a folder, not a file"
                        : "is not a regular file; a catalogue is read more than once, so save it to a file first")
            }
            length = Int(status.st_size)
            buffer = [UInt8](repeating: 0, count: max(input.pieceLength, 1))
        }
        try skipByteOrderMark()
    }

    deinit { if file >= 0 { close(file) } }

    private func skipByteOrderMark() throws {
        var first = [UInt8](repeating: 0, count: 3)
        if let bytes = input.bytes {
            first = [UInt8](bytes.prefix(3))
        } else {
            let count = first.withUnsafeMutableBytes { pread(file, $0.baseAddress, 3, 0) }
            guard count >= 0 else {
                throw UnreadableFile(path: path, reason: "cannot be read: \(String(cString: strerror(errno)))")
            }
            first.removeLast(3 - count)
        }
        if first == [0xEF, 0xBB, 0xBF] {
            position = 3
            if file >= 0 { lseek(file, 3, SEEK_SET) }
        } else if first.starts(with: [0xFF, 0xFE]) || first.starts(with: [0xFE, 0xFF]) {
            throw UnreadableFile(path: path, reason: "is in UTF-16 by its byte-order mark; convert it to UTF-8 first")
        }
    }

    /// Hands out the next piece; false at the end of the file.
    package func readPiece(_ body: (UnsafeRawBufferPointer) throws -> Void) throws -> Bool {
        if let bytes = input.bytes {
            let start = position
            position = min(start + max(input.pieceLength, 1), bytes.count)
            if start == position { return false }
            try bytes.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[start..<position])) }
            return true
        }
        return try buffer.withUnsafeMutableBytes { buffer in
            var count = read(file, buffer.baseAddress, buffer.count)
            while count < 0 && errno == EINTR { count = read(file, buffer.baseAddress, buffer.count) }
            guard count >= 0 else {
                throw UnreadableFile(path: path, reason: "cannot be read: \(String(cString: strerror(errno)))")
            }
            position += count
            if count == 0 { return false }
            try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            return true
        }
    }
}
