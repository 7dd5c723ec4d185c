/// Tracks whether changes are being delivered, and to which listeners. A context can't change its state during a
/// delivery.
final class Delivery {
    private var depth = 0
    private var listeners: Set<ObjectIdentifier> = []

    var isUnderWay: Bool { depth > 0 }

    func isTelling(_ listener: AnyObject) -> Bool { listeners.contains(ObjectIdentifier(listener)) }

    /// Throws `ContextError.delivering` while changes are being delivered.
    func requireNone() throws { if isUnderWay { throw ContextError.delivering } }

    /// Delivers changes to several listeners.
    func deliver(_ body: () -> Void) {
        depth += 1
        defer { depth -= 1 }
        body()
    }

    /// Delivers changes to a listener. Does nothing if the listener is receiving other changes; it gets these
    /// afterwards.
    func tell(_ listener: AnyObject, _ body: () -> Void) {
        guard listeners.insert(ObjectIdentifier(listener)).inserted else { return }
        defer { listeners.remove(ObjectIdentifier(listener)) }
        deliver(body)
    }
}
