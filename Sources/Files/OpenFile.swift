internal import SystemBasics

/// A file that is open as long as this lives. Symbolic links are not followed, and programs that this process starts do
/// not get it.
package struct OpenFile: ~Copyable {
    package let descriptor: CInt

    package init(_ path: String, _ flags: CInt) throws(SystemError) {
        descriptor = Descriptors.open(path, flags | O_NOFOLLOW | O_CLOEXEC)
        if descriptor < 0 { throw SystemError.last }
    }

    deinit { close(descriptor) }

    /// Locks the file until it is closed; false when another lock on it lasts until the end. flock
    package borrowing func lock(until end: ContinuousClock.Instant) throws(SystemError) -> Bool {
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR else { throw SystemError.last }
            if ContinuousClock.now > end { return false }
            usleep(1000)
        }
        return true
    }

    /// A file system that cannot bring folders to the disk says EINVAL. fsync
    package borrowing func sync() throws(SystemError) {
        if fsync(descriptor) != 0 && errno != EINVAL { throw SystemError.last }
    }
}
