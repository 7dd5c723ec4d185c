internal import FetchIndexLMDB
package import FetchIndexModels
internal import FetchIndexPlatform
internal import FetchIndexSorting

extension StoreError {
    package init(_ error: ModelError) {
        self =
            switch error {
            case .unknownEntity(let name, let near): .unknownEntity(name, near: near)
            case .unknownAttribute(let entity, let attribute, let near):
                .unknownAttribute(entity: entity, attribute: attribute, near: near)
            case .mismatch(let entity, let reason): .modelMismatch(entity: entity, reason)
            case .invalid(let reason): .invalidModel(reason)
            case .corrupted(let what): .corrupted(what)
            }
    }

    /// Converts an error of LMDB that means that a write failed. Returns nil for other errors.
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
    /// Converts an error of the model, the files, LMDB or sorting to a `StoreError`. Returns other errors unchanged.
    package static func publicError(_ error: any Error) -> any Error {
        switch error {
        case is StoreError, is StoreCopyError: return error
        case let error as CommittedWithoutSnapshot: return publicError(error.reason)
        case let error as ModelError: return StoreError(error)
        case let error as EnvironmentMoved: return StoreError.moved(path: error.path)
        case let error as MapFull: return StoreError.notSaved(error.reason)
        case let error as SortingError: return StoreError.notSaved("\(error)")
        case let error as DataFileError: return StoreError.corrupted("\(error)")
        case _ where error.isDamage: return StoreError.corrupted(LMDBError(error)?.reason ?? "\(error)")
        default:
            guard let error = LMDBError(error) else { return error }
            return StoreError(failedWrite: error) ?? .unavailable(error.reason)
        }
    }
}
