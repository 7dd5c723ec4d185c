/// An error that tells whether damaged stored bytes caused it.
package protocol DamageReporting: Error {
    var isDamage: Bool { get }
}

extension Error {
    /// Whether damaged stored bytes caused the error: those of a cache, which a rebuild replaces, or of the records or
    /// log.
    package var isDamage: Bool { (self as? any DamageReporting)?.isDamage ?? false }
}
