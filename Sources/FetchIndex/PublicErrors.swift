internal import FetchIndexPlatform
internal import FetchIndexLMDB
internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexRecords

/// Runs the body of a public function, and converts the errors of lower modules to public ones by `publicError`. The
/// errors of a user's own closure aren't converted.
@inline(__always)
package func withPublicErrors<Result: ~Copyable>(_ body: () throws -> Result) throws -> Result {
    do { return try body() } catch { throw publicError(error) }
}

@inline(never)
package func publicError(_ error: any Error) -> any Error {
    switch error {
    case is StoreError, is StoreCopyError: error
    case let error as ModelError: StoreError(error)
    case let error as CommittedWithoutSnapshot: publicError(error.reason)
    case _ where error.isDamage: StoreError.corrupted(LMDBError(error)?.reason ?? "\(error)")
    default: Store.publicError(error)
    }
}
