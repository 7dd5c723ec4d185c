internal import FetchIndexCLibrary

/// A temporary file without a name, so that the system deletes it when the process ends or is killed.
package final class TemporaryFile {
    /// The folder that the environment variable TMPDIR names. If it's unset: /var/tmp, which is usually on a disk, or
    /// /tmp if /var/tmp can't be written.
    package static let folder: String = {
        if let folder = getenv("TMPDIR"), folder.pointee != 0 { return String(cString: folder) }
        return access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp"
    }()

    private let file: Int32
    package private(set) var length = 0
    private var map: UnsafeMutableRawBufferPointer?

    /// Creates the file in a folder. The file has a name that begins with `prefix` until it's unlinked a moment later.
    /// mkstemp
    package init(inFolder folder: String, prefix: String) throws(SystemError) {
        // mkstemp creates a new file that only the owner can read, so the name can't be an existing symbolic link.
        var template = Array((folder + "/" + prefix + "-XXXXXX").utf8CString)
        let opened = mkstemp(&template)
        guard opened >= 0 else { throw SystemError.last }
        unlink(template)
        file = Descriptors.raised(opened)
        guard file >= 0 else { throw SystemError.last }
        _ = fcntl(file, F_SETFD, FD_CLOEXEC)
    }

    deinit {
        if let map { munmap(map.baseAddress, map.count) }
        close(file)
    }

    package func append(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
        var written = 0
        while written < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
            let count = FileSizeLimit.withoutSignal {
                pwrite(file, rest.baseAddress, rest.count, off_t(length + written))
            }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw SystemError.last }
            written += count
        }
        length += written
    }

    /// Reads bytes at an offset, at most as many as fit in the buffer, and returns their number.
    package func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int {
        while true {
            let count = pread(file, buffer.baseAddress, buffer.count, off_t(offset))
            if count >= 0 { return count }
            guard errno == EINTR else { throw SystemError.last }
        }
    }

    /// Maps the bytes that were appended so far into memory, which the system can free at any time, because the bytes are
    /// in the file. mmap
    package func mapIntoMemory() throws(SystemError) {
        guard let start = mmap(nil, length, PROT_READ, MAP_SHARED, file, 0), start != MAP_FAILED else {
            throw SystemError.last
        }
        if let map { munmap(map.baseAddress, map.count) }
        map = UnsafeMutableRawBufferPointer(start: start, count: length)
    }

    /// The mapped bytes. They are invalid after the next `mapIntoMemory`.
    package var bytes: RawSpan {
        @_lifetime(borrow self)
        get { _overrideLifetime(UnsafeRawBufferPointer(map ?? .init(start: nil, count: 0)).bytes, borrowing: self) }
    }
}
