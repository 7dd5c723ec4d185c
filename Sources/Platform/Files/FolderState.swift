internal import FetchIndexCLibrary

/// The identity of a folder, and the time of the last change of the names in it. While the state stays the same, the
/// names lead to the same files, unless something is mounted over one of them.
package struct FolderState: Equatable, Sendable {
    private let device: UInt64
    private let number: UInt64
    /// The folder's ctime, which programs can't set, unlike its mtime.
    private let seconds: Int
    private let nanoseconds: Int
    /// The time just before the folder was examined. All times are since 1970.
    private let asked: Int

    /// Returns nil if no folder can be seen. stat
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

    /// Whether every later change will have another time: some file systems count time in steps of two seconds.
    package var isSettled: Bool { seconds + 3 <= asked }
}
