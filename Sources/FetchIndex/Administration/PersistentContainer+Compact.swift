public import FetchIndexEssentials
internal import FetchIndexRecords

/// The result of a compaction.
public struct StoreCompaction: Equatable, Sendable {
    /// The bytes of the store's file before the compaction.
    public let bytesBefore: Int
    public let bytesAfter: Int
}

extension PersistentContainer {
    /// Rewrites a store's file without unused pages. No process may have the store open, this one included. An opening
    /// during the compaction waits. If this process dies, the store is either unchanged or compact. O(bytes of the
    /// store). Throws `StoreError` and `StoreCopyError`.
    @discardableResult
    public static func compact(at url: URL) throws -> StoreCompaction {
        try withPublicErrors {
            let done = try Store.compact(at: url.storePath())
            return StoreCompaction(bytesBefore: done.bytesBefore, bytesAfter: done.bytesAfter)
        }
    }
}
