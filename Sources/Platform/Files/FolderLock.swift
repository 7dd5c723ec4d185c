internal import FetchIndexCLibrary

/// A lock on a file of a folder, for processes and threads alike. The system drops it when its process dies.
package struct FolderLock: ~Copyable {
    private let file: OpenFile

    /// Waits for another holder until a deadline, or as long as it takes without one. Returns nil after the deadline.
    /// flock
    package init?(_ name: String, inFolder path: String, until end: ContinuousClock.Instant?) throws(SystemError) {
        let opened = try OpenFile(path + "/" + name, O_RDWR | O_CREAT)
        guard try opened.lock(until: end) else { return nil }
        file = opened
    }

    /// Writes a number that others can read while the lock is held.
    package func write(_ number: UInt64) {
        var number = number.littleEndian
        let descriptor = file.descriptor
        _ = withUnsafeBytes(of: &number) { bytes in
            FileSizeLimit.withoutSignal { pwrite(descriptor, bytes.baseAddress, bytes.count, 0) }
        }
    }

    /// The number in the file of a held lock; nil if the lock is free, or the file has no number.
    package static func valueOfHeld(_ name: String, inFolder path: String) -> UInt64? {
        let opened = Descriptors.open(path + "/" + name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard opened >= 0 else { return nil }
        defer { close(opened) }
        guard flock(opened, LOCK_SH | LOCK_NB) != 0, errno == EWOULDBLOCK else { return nil }
        var number: UInt64 = 0
        let length = withUnsafeMutableBytes(of: &number) { pread(opened, $0.baseAddress, $0.count, 0) }
        return length == 8 ? UInt64(littleEndian: number) : nil
    }

    /// Unlocks explicitly: between fork and exec, a child process shares the descriptor, and closing it here wouldn't
    /// unlock.
    deinit { flock(file.descriptor, LOCK_UN) }
}
