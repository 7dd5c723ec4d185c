public import FetchIndexEssentials
internal import FetchIndexRecords

extension PersistentContainer {
    /// Rewrites a store's file without unused pages. The store must not be open in any process, including this one. A
    /// process that opens the store during the compaction waits. If this process dies during the compaction, the store
    /// is either unchanged or compact. O(bytes of the store). Throws `StoreError`, and `StoreCopyError`, for example if
    /// the store is open.
    @discardableResult
    public static func compact(at url: URL) throws -> StoreCompaction {
        try withPublicErrors { try Store.compact(at: url.storePath()) }
    }
}
