internal import FetchIndexCLibrary

/// Identifies a file by device and inode, independently of its path. While the file is open, no other file has the same
/// identity. stat
package struct FileIdentity: Hashable, Sendable {
    private let device: UInt64
    private let number: UInt64

    private init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        number = UInt64(truncatingIfNeeded: status.st_ino)
    }

    /// Looks up the file at a path. Returns nil if the file is missing; throws on other errors of the system. Doesn't
    /// follow a symbolic link.
    package init?(ofPath path: String) throws(SystemError) {
        var status = stat()
        if lstat(path, &status) != 0 {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw SystemError.last
        }
        self.init(status)
    }

    package init(ofOpen descriptor: CInt) throws(SystemError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw SystemError.last }
        self.init(status)
    }
}
