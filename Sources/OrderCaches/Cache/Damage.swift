internal import CountedTree
internal import LMDB
internal import Records

extension Error {
    /// Whether the bytes of a cache are to blame, so that a rebuild helps.
    package var isTreeDamage: Bool { self is TreeError }

    /// Whether stored bytes are to blame: a cache's, or the log's that it is caught up from. Records that are damaged
    /// make the rebuild fail in its turn.
    var isDamage: Bool {
        if case .corrupted = self as? StoreError { return true }
        if let error = self as? LMDBError, error.isDamage { return true }
        return isTreeDamage
    }
}
