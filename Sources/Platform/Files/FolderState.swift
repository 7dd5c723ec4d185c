internal import FetchIndexCLibrary

/// A folder's identity and its ctime, which changes with its list of names. If an earlier state is settled and equals a
/// later one, the names in the folder still lead to the same files, unless a file system was mounted over one of them
/// or the clock was set back.
package struct FolderState: Equatable, Sendable {
    private let device: UInt64
    private let number: UInt64
    /// The folder's ctime. Programs can't set it, unlike its mtime.
    private let seconds: Int
    private let nanoseconds: Int
    /// The time just before the folder was examined, in seconds since 1970.
    private let asked: Int

    /// Examines a folder. Returns nil if stat fails.
    package init?(ofPath path: String) {
        asked = time(nil)
        var status = stat()
        if stat(path, &status) != 0 { return nil }
        device = UInt64(truncatingIfNeeded: status.st_dev)
        number = UInt64(truncatingIfNeeded: status.st_ino)
        #if canImport(Darwin)
            let changed = status.st_ctimespec
        #else
            let changed = status.st_ctim
        #endif
        (seconds, nanoseconds) = (changed.tv_sec, changed.tv_nsec)
    }

    package static func == (left: FolderState, right: FolderState) -> Bool {
        left.device == right.device && left.number == right.number && left.seconds == right.seconds
            && left.nanoseconds == right.nanoseconds
    }

    /// Whether any later change of the folder gets another ctime, unless the clock is set back. Some file systems round
    /// the ctime to two seconds, so it must be three seconds old.
    package var isSettled: Bool { seconds + 3 <= asked }
}
