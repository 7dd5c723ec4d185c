internal import SystemBasics

/// An error of a system call: its errno.
package struct SystemError: Error, RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: CInt

    package init(rawValue: CInt) { self.rawValue = rawValue }

    /// The error of the last system call.
    package static var last: SystemError { SystemError(rawValue: errno) }

    package static let busy = SystemError(rawValue: EBUSY)

    /// strerror
    package var description: String { String(cString: strerror(rawValue)) }
}
