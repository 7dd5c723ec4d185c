public import FetchIndexEssentials
internal import FetchIndexRecords

/// The result of a compaction.
public struct StoreCompaction: Equatable, Sendable {
    /// The size of the store's file before the compaction, in bytes.
    public let bytesBefore: Int
    public let bytesAfter: Int
}

extension PersistentContainer {
    /// Rewrites a store's file without unused pages. The store must not be open in any process, including this one. A
    /// process that opens the store during the compaction waits. If this process dies, the store is either unchanged or
    /// compact. O(bytes of the store). Throws `StoreError` and `StoreCopyError`.
    @discardableResult
    public static func compact(at url: URL) throws -> StoreCompaction {
        try withPublicErrors {
            let done = try Store.compact(at: url.storePath())
            return StoreCompaction(bytesBefore: done.bytesBefore, bytesAfter: done.bytesAfter)
        }
    }
}
