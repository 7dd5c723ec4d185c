internal import FetchIndexCLibrary

/// An exclusive lock on a file in a folder. It excludes other processes and other threads. The system releases it when
/// the process dies.
package struct FolderLock: ~Copyable {
    private let file: OpenFile

    /// Locks the file. If another holder has it, waits until the deadline, or without limit if `end` is nil. Returns
    /// nil after the deadline. flock
    package init?(_ name: String, inFolder path: String, until end: ContinuousClock.Instant?) throws(SystemError) {
        let opened = try OpenFile(path + "/" + name, O_RDWR | O_CREAT)
        guard try opened.lock(until: end) else { return nil }
        file = opened
    }

    /// Writes a number into the locked file. While the lock is held, other processes can read the number with
    /// `valueOfHeld`.
    package func write(_ number: UInt64) {
        var number = number.littleEndian
        let descriptor = file.descriptor
        _ = withUnsafeBytes(of: &number) { bytes in
            FileSizeLimit.withoutSignal { pwrite(descriptor, bytes.baseAddress, bytes.count, 0) }
        }
    }

    /// Returns the number that was last written into the file of a held lock, by its holder or an earlier one. Returns
    /// nil if the lock is free, or if the file has no number or can't be opened.
    package static func valueOfHeld(_ name: String, inFolder path: String) -> UInt64? {
        let opened = Descriptors.open(path + "/" + name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard opened >= 0 else { return nil }
        defer { close(opened) }
        guard flock(opened, LOCK_SH | LOCK_NB) != 0, errno == EWOULDBLOCK else { return nil }
        var number: UInt64 = 0
        let length = withUnsafeMutableBytes(of: &number) { pread(opened, $0.baseAddress, $0.count, 0) }
        return length == 8 ? UInt64(littleEndian: number) : nil
    }

    /// Unlocks explicitly. Closing the descriptor wouldn't unlock the file if a child process has a copy of the
    /// descriptor, which it has between fork and exec.
    deinit { flock(file.descriptor, LOCK_UN) }
}
