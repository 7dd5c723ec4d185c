internal import Synchronization

/// A small file that stays open between its uses, and that nobody waits for: where it cannot be opened, or another process keeps
/// it locked, it is not used. When it is removed or replaced, what is there then is opened within a second.
package final class SideFile: Sendable {
    package enum Use {
        case read
        /// Of a file that is there.
        case write
        case writeCreating
    }

    private struct Opened {
        let descriptor: CInt
        let isWritable: Bool
        /// In which second it was last seen to have a name.
        var seen = time(nil)
    }

    /// How often a locked file is tried, and the microseconds between.
    private static let attempts = 5
    private static let pause: UInt32 = 10

    /// Without it, the first read after each write sets the time of the last access, which costs more than the read.
    #if os(Linux)
        private static let noAccessTime: CInt = 0o1_000_000  // O_NOATIME, a macro that Swift does not import
    #else
        private static let noAccessTime: CInt = 0
    #endif

    private let path: String
    private let isReadOnly: Bool
    private let opened = Mutex<Opened?>(nil)

    /// One that is read-only is never written.
    package init(_ path: String, isReadOnly: Bool = false) { (self.path, self.isReadOnly) = (path, isReadOnly) }

    deinit { opened.withLock { if let opened = $0 { close(opened.descriptor) } } }

    /// Hands out the file's descriptor, under an exclusive lock when it is to be written. `accepts` is asked once after opening; a
    /// file that it does not accept is not used.
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
            // What is only read may be read beside a writer: checksums tell.
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
        // Only the file's owner may leave the time of the last access as it is.
        var descriptor = Descriptors.open(path, mode | flags | Self.noAccessTime)
        if descriptor < 0, errno == EPERM { descriptor = Descriptors.open(path, mode | flags) }
        return descriptor < 0 ? nil : Opened(descriptor: descriptor, isWritable: use != .read)
    }

    /// Whether no name leads to the file any more. Asked once a second at most: after fstat, Linux gives the next write a time of
    /// its own, which costs more than the write.
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
