/// An error that knows whether stored bytes are to blame.
package protocol DamageReporting: Error {
    var isDamage: Bool { get }
}

extension Error {
    /// Whether stored bytes are to blame: those of a cache, so that a rebuild helps, or of the records or the log.
    package var isDamage: Bool { (self as? any DamageReporting)?.isDamage ?? false }
}
