internal import FetchIndexCLibrary

/// Reads the beginning of small files that other programs wrote, such as the system's time zones.
package enum SmallFile {
    /// Returns the first bytes of a regular file, at most `limit`; nil, for example, if the path leads to no file or to
    /// a folder. Follows symbolic links.
    package static func bytes(of path: String, limit: Int) throws(SystemError) -> [UInt8]? {
        // O_NONBLOCK, because opening a pipe would wait for its writer.
        let file = Descriptors.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else {
            if [ENOENT, ENOTDIR, ENAMETOOLONG].contains(errno) { return nil }
            throw SystemError.last
        }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw SystemError.last }
        guard status.st_mode & S_IFMT == S_IFREG else { return nil }
        var bytes = [UInt8](repeating: 0, count: min(limit, Int(status.st_size)))
        var count = 0
        while count < bytes.count {
            let read = bytes.withUnsafeMutableBytes { bytes in
                pread(file, bytes.baseAddress.map { $0 + count }, bytes.count - count, off_t(count))
            }
            if read < 0, errno == EINTR { continue }
            if read < 0 { throw SystemError.last }
            if read == 0 { break }
            count += read
        }
        bytes.removeSubrange(count...)
        return bytes
    }
}
