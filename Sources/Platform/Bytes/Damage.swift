/// An error that says whether damaged stored bytes caused it.
package protocol DamageReporting: Error {
    var isDamage: Bool { get }
}

extension Error {
    /// Whether damaged stored bytes caused the error. The bytes may belong to a cache, which can be rebuilt, or to the
    /// records or the log. False for errors that aren't `DamageReporting`.
    package var isDamage: Bool { (self as? any DamageReporting)?.isDamage ?? false }
}
