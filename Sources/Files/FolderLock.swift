internal import SystemBasics

/// A lock on a file of the store's folder, for processes and threads alike. The system drops it when its process dies.
package struct FolderLock: ~Copyable {
    /// What a writer holds beside LMDB's own lock, so that another can ask whether a writer is busy.
    package static let writer = "writer.lock"
    /// What a build of a cache holds that is written in several transactions.
    package static let build = "build.lock"

    private let file: CInt

    /// How long to wait for another one.
    package enum Patience {
        case none
        case until(ContinuousClock.Instant)
        case forever
    }

    private static let longestPause: UInt32 = 5000

    /// Nil when another one holds the lock for longer than there is patience. flock
    package init?(_ name: String, inFolder path: String, _ patience: Patience) throws(SystemError) {
        let opened = Descriptors.open(path + "/" + name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW)
        guard opened >= 0 else { throw SystemError.last }
        var waits = false
        if case .forever = patience { waits = true }
        var pause: UInt32 = 50
        while flock(opened, waits ? LOCK_EX : LOCK_EX | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            let code = errno
            if code == EWOULDBLOCK, case .until(let end) = patience, ContinuousClock.now < end {
                usleep(pause)
                pause = min(2 * pause, Self.longestPause)
                continue
            }
            close(opened)
            if code == EWOULDBLOCK { return nil }
            throw SystemError(rawValue: code)
        }
        file = opened
    }

    /// Writes a number that others can read while the lock is held.
    package func write(_ number: UInt64) {
        var number = number.littleEndian
        _ = withUnsafeBytes(of: &number) { pwrite(file, $0.baseAddress, $0.count, 0) }
    }

    /// The number in the file of a lock that is held; nil when the lock is free, or has no number.
    package static func valueOfHeld(_ name: String, inFolder path: String) -> UInt64? {
        let opened = Descriptors.open(path + "/" + name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard opened >= 0 else { return nil }
        defer { close(opened) }
        guard flock(opened, LOCK_SH | LOCK_NB) != 0, errno == EWOULDBLOCK else { return nil }
        var number: UInt64 = 0
        let length = withUnsafeMutableBytes(of: &number) { pread(opened, $0.baseAddress, $0.count, 0) }
        return length == 8 ? UInt64(littleEndian: number) : nil
    }

    /// Unlocked first: a program that is just being started has the file until it runs.
    deinit {
        flock(file, LOCK_UN)
        close(file)
    }
}
