/// Which folder a path leads to, and when names in it last came, went or came to mean other files. While it stays the same, so do
/// they, unless something is mounted over one of them.
package struct FolderState: Equatable, Sendable {
    private let device: UInt64
    private let number: UInt64
    /// Its ctime, which programs cannot set as they can its mtime.
    private let seconds: Int
    private let nanoseconds: Int
    /// When it was asked for, before it was read. All times are since 1970.
    private let asked: Int

    /// Nil where no folder can be seen. stat
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

    /// Whether each change since it was read has another time: some file systems count time in steps of two seconds.
    package var isSettled: Bool { seconds + 3 <= asked }
}
