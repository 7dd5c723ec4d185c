public import FetchIndexEssentials
internal import FetchIndexRecords

extension PersistentContainer {
    /// Upgrades a store that was written with another version of LMDB: converts its file to the layout that the LMDB of
    /// this program reads and writes. LMDB 0.9 and 1.0 can't read each other's files. Returns nil if the file has the
    /// layout already.
    ///
    /// All values, the identity, commits, log, caches and bookkeeping of sources stay as they are. All pages are checked
    /// before, and the new store is checked like ``check(at:progress:)`` before the files are swapped: it may have no
    /// defect that the old one lacks. The old file stays in the folder as data.mdb.before until ``deleteOldFile(at:)``.
    /// If this process dies, the store is the old one or the new one. `converted` is called between the conversion and
    /// the check, and `progress` during the check.
    ///
    /// The store must not be open in any process, including this one. O(n log n) for the records and for each cache.
    /// Throws `StoreError` and `StoreCopyError`, for example if pages are damaged, the store is open, or the old file of
    /// an earlier upgrade still exists.
    @discardableResult
    public static func upgrade(
        at url: URL, converted: () -> Void = {}, progress: @escaping (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> StoreUpgrade? {
        try withPublicErrors {
            do {
                return try upgrade(at: url, accepting: [], converted, progress)
            } catch let error as DefectiveUpgrade {
                // What the old store has too must not keep it from being upgraded: only then can it be repaired here.
                let known = Set(try check(at: url, progress: progress))
                if let new = error.defects.first(where: { !known.contains($0) }) {
                    throw StoreError.corrupted("\(new); nothing was changed")
                }
                var upgrade = try upgrade(at: url, accepting: known, converted, progress)
                upgrade?.defects = error.defects
                return upgrade
            }
        }
    }

    private struct DefectiveUpgrade: Error {
        let defects: [String]
    }

    /// Upgrades a store unless the new file has other defects than the given ones.
    private static func upgrade(
        at url: URL, accepting known: Set<String>, _ converted: () -> Void,
        _ progress: @escaping (_ done: Int, _ total: Int) -> Void
    ) throws -> StoreUpgrade? {
        try Store.upgrade(at: url.storePath()) { folder in
            converted()
            let defects = try check(at: URL(fileURLWithPath: folder), progress: progress)
            if !known.isSuperset(of: defects) { throw DefectiveUpgrade(defects: defects) }
        }
    }

    /// Deletes the file that an upgrade has kept, and returns its length in bytes; nil if it is missing. Throws
    /// `StoreError`, for example if the store can't be opened: then the old file may be needed.
    @discardableResult
    public static func deleteOldFile(at url: URL) throws -> Int? {
        try withPublicErrors { try Store.deleteOldFile(at: url.storePath()) }
    }
}

extension PersistentContainer {
    /// The releases of LMDB that use the same files as the LMDB of this program: "LMDB 0.9" or "LMDB 1.0".
    public static var lmdbRelease: String { Store.lmdbRelease }
}
