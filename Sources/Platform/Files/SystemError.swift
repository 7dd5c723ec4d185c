internal import FetchIndexCLibrary

/// The errno of a failed system call.
package struct SystemError: Error, RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: CInt

    package init(rawValue: CInt) { self.rawValue = rawValue }

    /// The errno of the last system call on this thread.
    package static var last: SystemError { SystemError(rawValue: errno) }

    package static let busy = SystemError(rawValue: EBUSY)

    /// The text of strerror, and the process's limit if the error is about a limit.
    package var description: String {
        let reason = String(cString: strerror(rawValue))
        return switch rawValue {
        case EMFILE: "\(reason): this process may have \(Descriptors.limit); close some, or raise the limit (ulimit -n)"
        case EFBIG:
            FileSizeLimit.bytes.map { "\(reason): this process may write files of \($0) bytes at most (ulimit -f)" }
                ?? reason
        default: reason
        }
    }
}
