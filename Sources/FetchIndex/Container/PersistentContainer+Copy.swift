internal import FetchIndexRecords
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
    /// The copy is a separate store with all caches and history, without the unused pages. Its objects keep their ids; each of the two
    /// stores refuses ids that the other one gives later. The copy gets its name when it is whole and on disk;
    /// a failed copy leaves nothing. Pages are looked at before they are copied, values are not: `fetchindex backup` also compares
    /// these with their checksums, and keeps a damaged copy apart. The copied state is pinned during the copy, as by a reader. O(bytes of the store). Throws
    /// `StoreCopyError`, and `StoreError` when the copy cannot be read, or what makes it a store of its own is damaged.
    @discardableResult
    public func backup(to url: URL) throws -> StoreBackup { try backup(to: url, keepsDamaged: false) }

    /// As `backup(to:)`. With `keepsDamaged`, a copy whose identity is damaged is kept, with that of the original, to be checked.
    func backup(to url: URL, keepsDamaged: Bool) throws -> StoreBackup {
        try withPublicErrors {
            let backup = try store.backup(to: url.path, keepsDamaged: keepsDamaged)
            return StoreBackup(commit: backup.commit, byteCount: backup.byteCount, isCompact: backup.isCompact)
        }
    }
}

/// A finished backup.
public struct StoreBackup: Equatable, Sendable {
    /// The commit whose state it holds.
    public let commit: UInt64
    /// The bytes of its file.
    public let byteCount: Int
    /// Whether unused pages were left out. LMDB can do that only when it knows of each page whether it is used.
    public let isCompact: Bool
}
