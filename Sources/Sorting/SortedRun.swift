internal import Files
package import Models
internal import Bytes
internal import SystemBasics

extension StoreError {
    /// A system call on a temporary file failed: most likely the disk is full.
    fileprivate static var temporaryFileFailed: StoreError {
        .notSaved("a temporary file in the store's folder cannot be used: \(SystemError.last)")
    }

    /// What was read from a temporary file is not what was written.
    package static let temporaryFileDamaged = StoreError.notSaved(
        "a temporary file in the store's folder was damaged on the disk")
}

/// A temporary file in the store's folder. It has no name, so that it disappears when the process dies.
final class RunFile {
    private let file: Int32
    private(set) var length = 0

    init(inFolder folder: String) throws {
        // A new name, readable by the owner alone: no link can be there already.
        var template = Array((folder + "/sort-XXXXXX").utf8CString)
        let opened = mkstemp(&template)
        guard opened >= 0 else { throw StoreError.temporaryFileFailed }
        unlink(template)
        file = Descriptors.raised(opened)
        guard file >= 0 else { throw StoreError.temporaryFileFailed }
        _ = fcntl(file, F_SETFD, FD_CLOEXEC)
    }

    deinit { close(file) }

    func append(_ bytes: UnsafeRawBufferPointer) throws {
        var written = 0
        while written < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
            let count = pwrite(file, rest.baseAddress, rest.count, off_t(length + written))
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw StoreError.temporaryFileFailed }
            written += count
        }
        length += written
    }

    /// Reads bytes at an offset, as many as there are up to the buffer's size.
    func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        while true {
            let count = pread(file, buffer.baseAddress, buffer.count, off_t(offset))
            if count >= 0 { return count }
            guard errno == EINTR else { throw StoreError.temporaryFileFailed }
        }
    }
}

/// Sorted keys at the end of a temporary file, or by now in the middle of it: length 4, checksum 4, bytes, one after the
/// other. All runs of a sorter are in one file: a process may open only so many.
final class SortedRun {
    private static let bufferLength = 1 << 20
    /// Of an entry's length and checksum.
    static let prefixLength = 8

    private let file: RunFile
    private let start: Int
    private var buffer: [UInt8] = []
    private(set) var length = 0

    init(in file: RunFile) {
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
        try buffer.withUnsafeBytes { try file.append($0) }
        length += buffer.count
        buffer.removeAll(keepingCapacity: true)
    }

    /// Reads bytes at an offset in the run, as many as there are up to the buffer's size.
    func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        let count = min(buffer.count, length - offset)
        return try file.read(at: start + offset, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]))
    }
}
