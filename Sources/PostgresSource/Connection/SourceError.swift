/// Why a source cannot be followed, or not any further: one sentence.
package struct SourceError: Error, CustomStringConvertible, Equatable {
    package enum Kind: Sendable {
        /// The connection is lost, or cannot be made now: a later attempt may succeed.
        case connection
        /// The slot, or what the change table held, is gone: tables must be copied again.
        case lost
        /// Trying again would not help.
        case refused
        /// Wrong options.
        case usage
    }

    package let kind: Kind
    package let description: String
    /// The source's code of the error (SQLSTATE), if it has one.
    package let code: String?

    package init(_ kind: Kind, _ description: String, code: String? = nil) {
        (self.kind, self.description, self.code) = (kind, description, code)
    }
}

/// The work was asked to end.
package struct Interrupted: Error {}
