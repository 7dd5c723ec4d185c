internal import FetchIndexCLibrary
internal import Synchronization

/// A small optional file that stays open between its uses. If it can't be opened, or another process keeps it locked,
/// it isn't used. If it's removed or replaced, the new file is opened within a second.
package final class SideFile: Sendable {
    package enum Use {
        case read
        /// Writes to an existing file.
        case write
        case writeCreating
    }

    private struct Opened {
        let descriptor: CInt
        let isWritable: Bool
        /// The second in which the file was last seen to have a name.
        var seen = time(nil)
    }

    /// The number of attempts to lock the file, and the microseconds between them.
    private static let attempts = 5
    private static let pause: UInt32 = 10

    /// Without this flag, the first read after each write sets the time of the last access, which costs more than the
    /// read.
    #if os(Linux)
        private static let noAccessTime: CInt = 0o1_000_000  // O_NOATIME, a macro that Swift does not import
    #else
        private static let noAccessTime: CInt = 0
    #endif

    private let path: String
    private let isReadOnly: Bool
    private let opened = Mutex<Opened?>(nil)

    /// A read-only file is never written.
    package init(_ path: String, isReadOnly: Bool = false) { (self.path, self.isReadOnly) = (path, isReadOnly) }

    deinit { opened.withLock { if let opened = $0 { close(opened.descriptor) } } }

    /// Hands out the file's descriptor, under an exclusive lock for writing. Calls `accepts` once after opening; a file
    /// that it refuses isn't used.
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
            // The file may be read during a write: checksums tell whether the bytes are whole.
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
        // Only the file's owner may keep the time of the last access.
        var descriptor = Descriptors.open(path, mode | flags | Self.noAccessTime)
        if descriptor < 0, errno == EPERM { descriptor = Descriptors.open(path, mode | flags) }
        return descriptor < 0 ? nil : Opened(descriptor: descriptor, isWritable: use != .read)
    }

    /// Whether the file has lost its name. Looks at most once a second: after fstat, Linux gives the next write a time
    /// of its own, which costs more than the write.
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
