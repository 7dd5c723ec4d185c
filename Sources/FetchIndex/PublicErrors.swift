internal import FetchIndexRecords

/// Runs the body of a public function, and converts the errors of lower modules to public errors. The errors that a
/// user's own closure throws stay as they are.
@inline(__always)
package func withPublicErrors<Result: ~Copyable>(_ body: () throws -> Result) throws -> Result {
    do { return try body() } catch { throw publicError(error) }
}

/// Converts an error of a lower module to a public error. Records does it, because it also knows LMDB's and Sorting's.
@inline(never)
package func publicError(_ error: any Error) -> any Error { Store.publicError(error) }
