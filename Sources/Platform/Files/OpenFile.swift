internal import FetchIndexCLibrary

/// An open file, closed when this value is destroyed. A symbolic link at the path isn't followed, and programs that
/// this process starts don't inherit the descriptor.
package struct OpenFile: ~Copyable {
    package let descriptor: CInt

    package init(_ path: String, _ flags: CInt) throws(SystemError) {
        descriptor = Descriptors.open(path, flags | O_NOFOLLOW | O_CLOEXEC)
        if descriptor < 0 { throw SystemError.last }
    }

    /// Duplicates a descriptor, which stays open.
    package init(duplicating original: CInt) throws(SystemError) {
        descriptor = fcntl(original, F_DUPFD_CLOEXEC, 3)
        if descriptor < 0 { throw SystemError.last }
    }

    deinit { close(descriptor) }

    private static let longestPause: UInt32 = 5000

    /// Locks the file until it's unlocked or closed. While another open file holds the lock, waits until the deadline,
    /// or without limit if `end` is nil. Returns false after the deadline. flock
    package borrowing func lock(until end: ContinuousClock.Instant?) throws(SystemError) -> Bool {
        var pause: UInt32 = 50
        while flock(descriptor, end == nil ? LOCK_EX : LOCK_EX | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            guard errno == EWOULDBLOCK, let end else { throw SystemError.last }
            if ContinuousClock.now >= end { return false }
            usleep(pause)
            pause = min(2 * pause, Self.longestPause)
        }
        return true
    }

    /// Syncs the file. Ignores EINVAL, the error of file systems that can't sync folders. fsync
    package borrowing func sync() throws(SystemError) {
        if fsync(descriptor) != 0 && errno != EINVAL { throw SystemError.last }
    }
}
