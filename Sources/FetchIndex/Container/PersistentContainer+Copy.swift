public import FetchIndexEssentials
internal import FetchIndexRecords

extension PersistentContainer {
    /// Copies the newest state of the store to a folder that is new or empty, while readers and writers go on.
    ///
    ///     let backup = try container.backup(to: URL(fileURLWithPath: "/backups/monday"))
    ///     print("commit \(backup.commit) in \(backup.byteCount) bytes")
    ///
    /// The copy is a separate store with all caches and history, but without unused pages. Its objects keep their ids.
    /// Each of the two stores refuses ids of objects that the other one inserts later. The copy gets its name when it
    /// is complete and on disk; a failed copy leaves nothing.
    ///
    /// Pages are checked before they are copied, values are not. ``checkedBackup(to:copied:progress:)`` also compares
    /// values with their checksums, and keeps a damaged copy apart. The copied state is pinned during the copy, as by a
    /// reader. O(bytes of the store). Throws `StoreCopyError`, and `StoreError` if the store can't be read or its
    /// identity is damaged.
    @discardableResult
    public func backup(to url: URL) throws -> StoreBackup { try backup(to: url, keepsDamaged: false) }

    /// Makes a backup like `backup(to:)`. With `keepsDamaged`, a copy whose identity is damaged isn't removed, so that
    /// it can be checked; it keeps the store's identity.
    func backup(to url: URL, keepsDamaged: Bool) throws -> StoreBackup {
        try withPublicErrors { try store.backup(to: url.path, keepsDamaged: keepsDamaged) }
    }
}
