internal import Records
#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension PersistentContainer {
    /// Copies the newest state of the store to a folder that is new or empty, while readers and writers go on.
    ///
    ///     let backup = try container.backup(to: URL(fileURLWithPath: "/backups/monday"))
    ///     print("commit \(backup.commit) in \(backup.byteCount) bytes")
    ///
    /// The copy is a store like any other, with its caches and its history, and without the original's unused pages. It
    /// appears under its name when it is whole and on the disk; nothing is left of one that failed. While it is made,
    /// the state that it copies is pinned, as by a reader. O(bytes of the store). Throws `StoreCopyError`, and
    /// `StoreError` when the copy cannot be read.
    @discardableResult
    public func backup(to url: URL) throws -> StoreBackup {
        try withPublicErrors {
            let backup = try store.backup(to: url.path)
            return StoreBackup(commit: backup.commit, byteCount: backup.byteCount, isCompact: backup.isCompact)
        }
    }
}

/// A back-up that was made.
public struct StoreBackup: Equatable, Sendable {
    /// The commit whose state it holds.
    public let commit: UInt64
    /// Of its file.
    public let byteCount: Int
    /// Whether unused pages were left out, which LMDB can do only when it knows each page to be used or free.
    public let isCompact: Bool
}
