internal import FetchIndexPlatform

/// Sorted keys in a range of a temporary file. Each key is stored as length 4, checksum 4, bytes. All runs of a sorter
/// share one file, because a process may open only a limited number of files.
final class SortedRun {
    private static let bufferLength = 1 << 20
    /// The length of a key's prefix: the key's length and its checksum.
    static let prefixLength = 8

    private let file: TemporaryFile
    private let start: Int
    private var buffer: [UInt8] = []
    private(set) var length = 0

    init(in file: TemporaryFile) {
        self.file = file
        start = file.length
    }

    func append(_ key: RawSpan) throws {
        for number in [UInt32(key.byteCount), key.checksum] {
            Swift.withUnsafeBytes(of: number) { buffer.append(contentsOf: $0) }
        }
        key.withUnsafeBytes { buffer.append(contentsOf: $0) }
        if buffer.count >= Self.bufferLength { try flush() }
    }

    func finish() throws {
        try flush()
        buffer = []
    }

    private func flush() throws {
        do { try buffer.withUnsafeBytes { try file.append($0) } } catch let error as SystemError {
            throw SortingError.fileFailed(error)
        }
        length += buffer.count
        buffer.removeAll(keepingCapacity: true)
    }

    /// Reads bytes at an offset in the run, at most as many as fit in the buffer, and returns their number. The system may
    /// read fewer.
    func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        let count = min(buffer.count, length - offset)
        do {
            return try file.read(at: start + offset, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]))
        } catch { throw SortingError.fileFailed(error) }
    }
}
