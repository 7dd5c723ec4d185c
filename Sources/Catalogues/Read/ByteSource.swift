internal import FetchIndexCLibrary

/// Bytes that are read once, sequentially.
protocol ByteSource: AnyObject {
    /// Reads the next bytes into a buffer, perhaps fewer than fit. Returns their number; 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int
    /// The number of bytes of the file that were read so far.
    var position: Int { get }
}

extension ByteSource {
    /// Reads the next `count` bytes, or fewer at the end.
    func read(upTo count: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let added = try bytes.withUnsafeMutableBytes { try read(into: .init(rebasing: $0[filled...])) }
            if added == 0 { break }
            filled += added
        }
        bytes.removeLast(count - filled)
        return bytes
    }
}

/// The bytes of a file, a pipe, or standard input for "-".
final class FileSource: ByteSource {
    private let path: String
    private let file: Int32
    /// The length of a regular file; otherwise 0.
    let length: Int
    private(set) var position = 0
    /// The end is remembered, because a terminal, or a pipe with another writer, could continue after its end.
    private var isAtEnd = false

    /// Throws if the file can't be opened or is a folder, and, unless `mayBePipe`, if it isn't a regular file.
    init(_ path: String, mayBePipe: Bool) throws {
        self.path = path
        // Opening a pipe waits for a writer, as is usual. If pipes aren't allowed, O_NONBLOCK prevents the wait, so
        // that the error comes immediately.
        let flags = O_RDONLY | O_CLOEXEC | (mayBePipe ? 0 : O_NONBLOCK)
        file = path == CatalogueInput.standardInput && mayBePipe ? dup(0) : open(path, flags)
        guard file >= 0 else {
            throw UnreadableFile(path: path, reason: "cannot be opened: \(String(cString: strerror(errno)))")
        }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else {
            close(file)
            throw UnreadableFile(path: path, reason: "is a folder, not a file")
        }
        let isRegular = status.st_mode & S_IFMT == S_IFREG
        guard isRegular || mayBePipe else {
            close(file)
            throw UnreadableFile(path: path, reason: "is not a regular file")
        }
        length = isRegular ? Int(status.st_size) : 0
    }

    deinit { close(file) }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        if buffer.isEmpty || isAtEnd { return 0 }
        var count = FetchIndexCLibrary.read(file, buffer.baseAddress, buffer.count)
        while count < 0 && errno == EINTR { count = FetchIndexCLibrary.read(file, buffer.baseAddress, buffer.count) }
        guard count >= 0 else {
            throw UnreadableFile(path: path, reason: "cannot be read: \(String(cString: strerror(errno)))")
        }
        position += count
        isAtEnd = count == 0
        return count
    }
}

/// A source whose first bytes were already read.
final class PeekedSource: ByteSource {
    private let rest: any ByteSource
    private var first: ArraySlice<UInt8>

    init(_ first: [UInt8], before rest: any ByteSource) { (self.first, self.rest) = (first[...], rest) }

    var position: Int { rest.position - first.count }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        if first.isEmpty { return try rest.read(into: buffer) }
        let piece = first.prefix(buffer.count)
        buffer.copyBytes(from: piece)
        first = first.dropFirst(piece.count)
        return piece.count
    }
}

/// Opens a file and returns its bytes, decompressed if they begin like gzip's or zstd's, whatever the file's name is.
/// `length` is the stored file's length; 0 if it isn't a regular file.
func openBytes(_ path: String, mayBePipe: Bool) throws -> (source: any ByteSource, length: Int) {
    let file = try FileSource(path, mayBePipe: mayBePipe)
    let first = try file.read(upTo: 4)
    let peeked = PeekedSource(first, before: file)
    if first.starts(with: GzipSource.magic) { return (try GzipSource(peeked, path: path), file.length) }
    if ZstdSource.begins(first) { return (try ZstdSource(peeked, path: path), file.length) }
    return (peeked, file.length)
}
