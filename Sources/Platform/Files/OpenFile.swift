internal import FetchIndexCLibrary

/// A file that is open as long as this value lives. Symbolic links aren't followed, and programs that this process
/// starts don't get the file.
package struct OpenFile: ~Copyable {
    package let descriptor: CInt

    package init(_ path: String, _ flags: CInt) throws(SystemError) {
        descriptor = Descriptors.open(path, flags | O_NOFOLLOW | O_CLOEXEC)
        if descriptor < 0 { throw SystemError.last }
    }

    deinit { close(descriptor) }

    private static let longestPause: UInt32 = 5000

    /// Locks the file until it's closed. Returns false if another lock on it lasts until the deadline; without a
    /// deadline, waits as long as it takes. flock
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

    /// Syncs the file. Ignores EINVAL, which file systems that can't sync folders return. fsync
    package borrowing func sync() throws(SystemError) {
        if fsync(descriptor) != 0 && errno != EINVAL { throw SystemError.last }
    }
}
