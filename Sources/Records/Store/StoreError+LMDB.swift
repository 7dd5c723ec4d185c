internal import FetchIndexLMDB
internal import FetchIndexModels
internal import FetchIndexSorting

extension StoreError {
    /// What an error of LMDB's means for a writer.
    init?(failedWrite error: LMDBError) {
        if error == .panic {
            self = .mustBeReopened
        } else if error.isFailedWrite {
            self = .notSaved(error.reason)
        } else {
            return nil
        }
    }
}

extension Store {
    /// An error of an open store's files as a `StoreError`; any other error as it is.
    package static func publicError(_ error: any Error) -> any Error {
        switch error {
        case let error as EnvironmentMoved: return StoreError.moved(path: error.path)
        case let error as MapFull: return StoreError.notSaved(error.reason)
        case let error as SortingError: return StoreError.notSaved("\(error)")
        case let error as DataFileError: return StoreError.corrupted("\(error)")
        default:
            guard let error = LMDBError(error) else { return error }
            return StoreError(failedWrite: error) ?? .unavailable(error.reason)
        }
    }
}
