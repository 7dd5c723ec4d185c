#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// A file that is open as long as this lives. Symbolic links are not followed, and programs that this process starts do
/// not get it.
struct OpenFile: ~Copyable {
    let descriptor: CInt

    init(_ path: String, _ flags: CInt) throws(LMDBError) {
        descriptor = open(path, flags | O_NOFOLLOW | O_CLOEXEC, 0o600)
        if descriptor < 0 { throw LMDBError(rawValue: errno) }
    }

    deinit { close(descriptor) }

    /// Waits until nobody else has the file locked, and keeps it so until it is closed. flock
    borrowing func lock() throws(LMDBError) {
        while flock(descriptor, LOCK_EX) != 0 { if errno != EINTR { throw LMDBError(rawValue: errno) } }
    }

    /// A file system that cannot bring folders to the disk says EINVAL. fsync
    borrowing func sync() throws(LMDBError) {
        if fsync(descriptor) != 0 && errno != EINVAL { throw LMDBError(rawValue: errno) }
    }
}
