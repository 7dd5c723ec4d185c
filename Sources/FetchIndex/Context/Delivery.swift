/// Records whether changes are being delivered, and which listeners are receiving changes. During a delivery, the
/// context can't be saved, merged or rolled back.
final class Delivery {
    private var depth = 0
    private var listeners: Set<ObjectIdentifier> = []

    var isUnderWay: Bool { depth > 0 }

    func isTelling(_ listener: AnyObject) -> Bool { listeners.contains(ObjectIdentifier(listener)) }

    /// Throws `ContextError.delivering` while changes are being delivered.
    func requireNone() throws { if isUnderWay { throw ContextError.delivering } }

    /// Runs a body that delivers changes to listeners.
    func deliver(_ body: () -> Void) {
        depth += 1
        defer { depth -= 1 }
        body()
    }

    /// Runs a body that delivers changes to a listener. If the listener is already receiving changes, does nothing: the
    /// call that delivers those changes must deliver the new ones afterwards.
    func tell(_ listener: AnyObject, _ body: () -> Void) {
        guard listeners.insert(ObjectIdentifier(listener)).inserted else { return }
        defer { listeners.remove(ObjectIdentifier(listener)) }
        deliver(body)
    }
}
