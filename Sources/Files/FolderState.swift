internal import SystemBasics

/// Which folder a path leads to, and when names in it last came, went or came to mean other files: while it stays the same, so do
/// they. stat
package struct FolderState: Equatable, Sendable {
    private let device: UInt64
    private let number: UInt64
    /// Since 1970, in seconds and nanoseconds.
    private let changed: (seconds: Int, nanoseconds: Int)
    private let modified: (seconds: Int, nanoseconds: Int)

    /// Nil where no folder can be seen.
    package init?(ofPath path: String) {
        var status = stat()
        if stat(path, &status) != 0 { return nil }
        device = UInt64(truncatingIfNeeded: status.st_dev)
        number = UInt64(truncatingIfNeeded: status.st_ino)
        #if canImport(Darwin)
            let (changed, modified) = (status.st_ctimespec, status.st_mtimespec)
        #else
            let (changed, modified) = (status.st_ctim, status.st_mtim)
        #endif
        self.changed = (changed.tv_sec, changed.tv_nsec)
        self.modified = (modified.tv_sec, modified.tv_nsec)
    }

    package static func == (left: FolderState, right: FolderState) -> Bool {
        left.device == right.device && left.number == right.number && left.changed == right.changed
            && left.modified == right.modified
    }

    /// Whether the next change will have another time for certain: some file systems count time in steps of two seconds.
    package var isSettled: Bool {
        let now = time(nil)
        return changed.seconds + 3 <= now && modified.seconds + 3 <= now
    }
}
