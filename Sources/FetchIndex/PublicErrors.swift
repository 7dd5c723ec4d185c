internal import FetchIndexPlatform
internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexRecords

/// Runs the body of a public function, and converts the errors of lower modules to public errors. The errors that a
/// user's own closure throws stay as they are.
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
    default: Store.publicError(error)
    }
}
