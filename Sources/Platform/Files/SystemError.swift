internal import FetchIndexCLibrary

/// An error of a system call: its errno.
package struct SystemError: Error, RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: CInt

    package init(rawValue: CInt) { self.rawValue = rawValue }

    /// The error of the last system call.
    package static var last: SystemError { SystemError(rawValue: errno) }

    package static let busy = SystemError(rawValue: EBUSY)

    /// strerror, with the limit that was met.
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
