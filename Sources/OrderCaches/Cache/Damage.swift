internal import CountedTree
internal import LMDB
internal import Records

extension Error {
    /// Whether stored bytes are to blame: a cache's, so that a rebuild helps, or those of the records or the log.
    /// Where records are damaged, the rebuild fails in its turn.
    package var isDamage: Bool {
        switch self {
        case is TreeError, is DamagedOrder: true
        case let error as LMDBError: error.isDamage
        case let error as StoreError: if case .corrupted = error { true } else { false }
        default: false
        }
    }
}
