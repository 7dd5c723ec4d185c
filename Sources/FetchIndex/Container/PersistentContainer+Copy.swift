public import FetchIndexEssentials
internal import FetchIndexRecords

extension PersistentContainer {
    /// Copies the newest state of the store to a folder that is new or empty, while other readers and writers continue.
    ///
    ///     let backup = try container.backup(to: URL(fileURLWithPath: "/backups/monday"))
    ///     print("commit \(backup.commit) in \(backup.byteCount) bytes")
    ///
    /// The copy is a separate store with all caches and the log. Unused pages are left out if possible (see
    /// `StoreBackup.isCompact`). Objects keep their ids. If the store has an identifier, each of the two stores refuses
    /// the ids of objects that are later inserted into the other store. The copy gets its name when it is complete and
    /// on disk; a failed copy is removed if possible.
    ///
    /// Pages are checked before they are copied, but values aren't checked. ``checkedBackup(to:copied:progress:)`` also
    /// compares values with their checksums, and renames a damaged copy if possible. During the copy, the copied state
    /// is pinned, like the state of a reader. O(bytes of the store). Throws `StoreCopyError`, and `StoreError` if the
    /// store can't be read or its identity is damaged.
    @discardableResult
    public func backup(to url: URL) throws -> StoreBackup { try backup(to: url, keepsDamaged: false) }

    /// Makes a backup like `backup(to:)`. If `keepsDamaged`, a copy whose identity is damaged is kept for a check, with
    /// the identity of the original store.
    func backup(to url: URL, keepsDamaged: Bool) throws -> StoreBackup {
        try withPublicErrors { try store.backup(to: url.path, keepsDamaged: keepsDamaged) }
    }
}
