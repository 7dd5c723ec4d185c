internal import FetchIndexPlatform

/// The bytes of a pipe. Several readers may read them until replaying ends; then one reader can continue. Until then,
/// bytes that were read are retained in memory or, beyond a limit, in an unnamed temporary file.
final class ReplayedBytes {
    private let source: any ByteSource
    /// The maximum number of bytes retained in memory.
    private static let maximumKept = 1 << 20

    private let path: String
    private var kept: [UInt8] = []
    /// The file with all retained bytes, once they exceed the limit.
    private var file: TemporaryFile?
    private var isKept = true
    /// The reason why bytes couldn't be retained. These bytes are lost, so all further reads fail.
    private var failure: UnreadableFile?

    init(_ source: any ByteSource, path: String) { (self.source, self.path) = (source, path) }

    /// Ends replaying: bytes that are read from now on aren't retained, so only one reader can continue.
    func endReplay() { isKept = false }

    fileprivate func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        if let failure { throw failure }
        if let file, offset < file.length {
            do { return try file.read(at: offset, into: buffer) } catch { throw unusable(error) }
        }
        if offset < kept.count {
            let piece = kept[offset...].prefix(buffer.count)
            buffer.copyBytes(from: piece)
            return piece.count
        }
        let count = try source.read(into: buffer)
        if isKept {
            try keep(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        } else {
            (kept, file) = ([], nil)
        }
        return count
    }

    private func keep(_ bytes: UnsafeRawBufferPointer) throws {
        if file == nil && kept.count + bytes.count <= Self.maximumKept { return kept.append(contentsOf: bytes) }
        do throws(SystemError) {
            if file == nil {
                file = try TemporaryFile(inFolder: TemporaryFile.folder, prefix: "fetchindex-pipe")
                let first = kept.withUnsafeBytes { append($0) }
                if let first { throw first }
                kept = []
            }
            if let error = append(bytes) { throw error }
        } catch {
            let error = unusable(error)
            failure = error
            throw error
        }
    }

    private func append(_ bytes: UnsafeRawBufferPointer) -> SystemError? {
        do throws(SystemError) { try file?.append(bytes) } catch { return error }
        return nil
    }

    private func unusable(_ error: any Error) -> UnreadableFile {
        UnreadableFile(
            path: path,
            reason:
                "cannot be kept in \(TemporaryFile.folder) while types are inferred (\(error)); TMPDIR can name another folder",
            remedy: .types)
    }

    /// Reads the bytes, beginning with the first one.
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
