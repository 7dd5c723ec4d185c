internal import FetchIndexCLibrary
internal import Synchronization

/// A small optional file that stays open between its uses. It's not used if it can't be opened, and not written while
/// another process keeps it locked. After it's deleted, or another file is renamed to its path, the next use that is at
/// least a second later opens the path again.
package final class SideFile: Sendable {
    package enum Use {
        case read
        /// Writes to the file if it exists.
        case write
        case writeCreating
    }

    private struct Opened {
        let descriptor: CInt
        let isWritable: Bool
        /// The second in which the file was opened, or in which fstat last found that it still has a name.
        var seen = time(nil)
    }

    /// The number of attempts to lock the file.
    private static let attempts = 5
    /// The microseconds between two attempts.
    private static let pause: UInt32 = 10

    /// The flag that keeps the time of the last access. Without it, the first read after each write may set that time,
    /// which costs more than the read.
    #if os(Linux)
        private static let noAccessTime: CInt = 0o1_000_000  // O_NOATIME, a macro that Swift does not import
    #else
        private static let noAccessTime: CInt = 0
    #endif

    private let path: String
    private let isReadOnly: Bool
    private let opened = Mutex<Opened?>(nil)

    /// A file at `path`, opened when it's first used. If `isReadOnly`, uses that write are ignored.
    package init(_ path: String, isReadOnly: Bool = false) { (self.path, self.isReadOnly) = (path, isReadOnly) }

    deinit { opened.withLock { if let opened = $0 { close(opened.descriptor) } } }

    /// Calls the body with the file's descriptor, under an exclusive lock if the use writes. After opening the file,
    /// calls `accepts` once; if that returns false, the file isn't used.
    package func use(
        _ use: Use, accepts: (_ descriptor: CInt, _ isWritable: Bool) -> Bool, _ body: (CInt) -> Void
    ) {
        if isReadOnly, use != .read { return }
        opened.withLock { opened in
            if let found = opened, use != .read && !found.isWritable || Self.isGone(&opened) {
                close(found.descriptor)
                opened = nil
            }
            guard let file = opened ?? open(use) else { return }
            // A reader that doesn't get the lock reads anyway: checksums reveal a half-written file.
            let isLocked = Self.lock(file.descriptor, use == .read ? LOCK_SH : LOCK_EX)
            let isUsed = (isLocked || use == .read) && (opened != nil || accepts(file.descriptor, use != .read))
            if isUsed { body(file.descriptor) }
            if isLocked { flock(file.descriptor, LOCK_UN) }
            if isUsed {
                if opened == nil { opened = file }
            } else if opened == nil {
                close(file.descriptor)
            }
        }
    }

    private func open(_ use: Use) -> Opened? {
        let flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        let mode = use == .read ? O_RDONLY : use == .write ? O_RDWR : O_RDWR | O_CREAT
        // Only the file's owner and privileged processes may use O_NOATIME.
        var descriptor = Descriptors.open(path, mode | flags | Self.noAccessTime)
        if descriptor < 0, errno == EPERM { descriptor = Descriptors.open(path, mode | flags) }
        return descriptor < 0 ? nil : Opened(descriptor: descriptor, isWritable: use != .read)
    }

    /// Whether the file no longer has a name, because it was deleted or replaced. Checks at most once in each second of
    /// the clock: after fstat, Linux may give the next write a distinct timestamp, which costs more than the write.
    private static func isGone(_ opened: inout Opened?) -> Bool {
        let now = time(nil)
        guard let file = opened, now != file.seen else { return false }
        var status = stat()
        if fstat(file.descriptor, &status) != 0 || status.st_nlink == 0 { return true }
        opened?.seen = now
        return false
    }

    private static func lock(_ descriptor: CInt, _ kind: CInt) -> Bool {
        for attempt in 0..<attempts {
            if flock(descriptor, kind | LOCK_NB) == 0 { return true }
            if attempt + 1 < attempts { usleep(pause) }
        }
        return false
    }
}
