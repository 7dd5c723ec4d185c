/// Bytes of a pipe that several readers begin to read, and one reads to the end: what was read is kept until then.
final class ReplayedBytes {
    private let source: any ByteSource
    /// What the first rows may take.
    private static let maximumKept = 128 << 20

    private let path: String
    private var kept: [UInt8] = []
    private var isKept = true

    init(_ source: any ByteSource, path: String) { (self.source, self.path) = (source, path) }

    /// From now on, one reader goes on, and others end.
    func endReplay() { isKept = false }

    fileprivate func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        if offset < kept.count {
            let piece = kept[offset...].prefix(buffer.count)
            buffer.copyBytes(from: piece)
            return piece.count
        }
        let count = try source.read(into: buffer)
        if isKept { kept += buffer[..<count] } else if !kept.isEmpty { kept = [] }
        if kept.count > Self.maximumKept {
            throw UnreadableFile(path: path, reason: "has too long first rows for a pipe; save it to a file first")
        }
        return count
    }

    /// Reads the bytes from the first one on.
    final class Reader: ByteSource {
        private let bytes: ReplayedBytes
        private(set) var position = 0

        init(_ bytes: ReplayedBytes) { self.bytes = bytes }

        func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
            let count = try bytes.read(at: position, into: buffer)
            position += count
            return count
        }
    }
}
