/// The reason why a source can't be followed, or can't be followed any further.
package struct SourceError: Error, CustomStringConvertible, Equatable {
    package enum Kind: Sendable {
        /// The connection is lost or can't be made now, or something else disturbed the work: a later attempt may
        /// succeed.
        case connection
        /// Further changes might not bring the store in step with the source, so all tables must be copied again.
        case lost
        /// A later attempt would probably fail as well, unless the source, the store or the options are changed first.
        case refused
        /// The store has everything but rows that can't be stored.
        case incomplete
        /// The options are wrong.
        case usage
    }

    package let kind: Kind
    /// A sentence that says what is wrong, without a tool's options. It has no full stop, unless it ends with a text of
    /// the server that has one.
    package let reason: String
    /// A remedy for the user, if the error has one besides what the reason says.
    package let remedy: SourceRemedy?
    /// The server's code of the error (SQLSTATE), if any. The server's texts are in its own language, so only the code
    /// can be compared.
    package let code: String?

    /// If `remedy` is nil, an error of the kind `lost` has the remedy to copy all tables again.
    package init(_ kind: Kind, _ reason: String, remedy: SourceRemedy? = nil, code: String? = nil) {
        (self.kind, self.reason, self.code) = (kind, reason, code)
        self.remedy = remedy ?? (kind == .lost ? .copyAgain : nil)
    }

    /// The reason and the remedy as one sentence.
    package var description: String { reason + (remedy.map { "; \($0)" } ?? "") }
}

/// Thrown by work that ends because it was interrupted.
package struct Interrupted: Error {}
