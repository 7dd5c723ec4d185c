package import FetchIndex
package import Models
internal import Records

extension PersistentContainer {
    /// As `StoreReader.names`, in the newest state.
    package func names(of ids: [ObjectID], since commit: UInt64?) throws -> [ObjectID: ObjectName] {
        try withPublicErrors { try store.snapshot().names(of: ids, since: commit) }
    }
}
