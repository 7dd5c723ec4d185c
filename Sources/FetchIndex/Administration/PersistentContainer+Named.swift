package import FetchIndexModels
internal import FetchIndexRecords

extension PersistentContainer {
    /// As `StoreReader.names`, in the newest state.
    package func names(of ids: [ObjectID], since commit: UInt64?) throws -> [ObjectID: ObjectName] {
        try withPublicErrors { try store.snapshot().names(of: ids, since: commit) }
    }
}
