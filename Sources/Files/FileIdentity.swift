internal import SystemBasics

/// What makes a file itself, whatever its name. No other file has it as long as this one is open. stat
package struct FileIdentity: Hashable, Sendable {
    private let device: UInt64
    private let number: UInt64

    private init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        number = UInt64(truncatingIfNeeded: status.st_ino)
    }

    /// Nil where there is no file. Does not follow a symbolic link. Throws when the system does not tell.
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
