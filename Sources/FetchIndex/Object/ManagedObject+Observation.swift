internal import FetchIndexPlatform
internal import FetchIndexModels
public import Observation
internal import FetchIndexRecords

/// Observation tracks reads of objects' properties: `withObservationTracking`, `Observations`, and views that use them.
/// Each attribute is tracked by itself; the id, whether the object has changes, and similar state are tracked together.
extension ManagedObject: Observable {}

extension ManagedObject {
    /// Notes that an attribute was read.
    func noteRead(ofSlot slot: Int) { noteRead(ObservedKeyPaths.ofSlot(slot)) }

    /// Notes that the object's state was read: its id, or whether it has changes.
    func noteReadOfState() { noteRead(ObservedKeyPaths.state) }

    private func noteRead(_ keyPath: any KeyPath<ManagedObject, Bool> & Sendable) {
        if probe != nil { return }
        if let observers { return observers.registrar.access(self, keyPath: keyPath) }
        // Created at the first read, because Observation doesn't tell whether anybody observes it.
        let made = Observers()
        observers = made
        made.registrar.access(self, keyPath: keyPath)
    }

    /// Changes the values of attributes, and notifies observers.
    func observedChange(ofSlots slots: [Int], _ body: () -> Void) {
        guard let registrar = observers?.registrar else { return body() }
        guard let slot = slots.first else {
            return registrar.withMutation(of: self, keyPath: ObservedKeyPaths.state, body)
        }
        registrar.withMutation(of: self, keyPath: ObservedKeyPaths.ofSlot(slot)) {
            observedChange(ofSlots: Array(slots.dropFirst()), body)
        }
    }

    /// Notifies observers that the object's state has changed.
    func noteChangeOfState() { if let registrar = observers?.registrar { tell(registrar, ObservedKeyPaths.state) } }

    /// Observers are notified immediately and may run any code, so not while the context advances.
    private func tell(_ registrar: ObservationRegistrar, _ keyPath: any KeyPath<ManagedObject, Bool> & Sendable) {
        if let core, core.isDeferringObservations {
            core.observations.append { registrar.withMutation(of: self, keyPath: keyPath) {} }
        } else {
            registrar.withMutation(of: self, keyPath: keyPath) {}
        }
    }

    /// Notifies observers that all properties may have changed.
    func noteChangeOfAll() {
        guard let registrar = observers?.registrar else { return }
        for slot in entity.attributeSlots + entity.relationshipSlots { noteChange(ofSlot: slot, registrar) }
        if entity.links != nil { noteChange(ofSlot: .max, registrar) }
        noteChangeOfState()
    }

    /// Notifies observers of the attributes that differ between two records.
    func noteChange(from old: [UInt8], to new: [UInt8]) {
        guard let registrar = observers?.registrar else { return }
        let missing = entity.missingValues
        guard let before = try? RecordView(old.span.bytes, missing: missing.span.bytes),
            let after = try? RecordView(new.span.bytes, missing: missing.span.bytes)
        else {
            return noteChangeOfAll()
        }
        for slot in entity.attributeSlots + entity.relationshipSlots {
            let oldRange = (try? before.range(of: slot)) ?? nil
            let newRange = (try? after.range(of: slot)) ?? nil
            if let oldRange, let newRange, before.bytes(oldRange).isEqual(to: after.bytes(newRange)) { continue }
            if oldRange != nil || newRange != nil { noteChange(ofSlot: slot, registrar) }
        }
        noteChangeOfState()
    }

    /// Notifies observers that objects of a to-many relationship have changed.
    func noteChangeOfRelated() { if let registrar = observers?.registrar { noteChange(ofSlot: .max, registrar) } }

    private func noteChange(ofSlot slot: Int, _ registrar: ObservationRegistrar) {
        tell(registrar, ObservedKeyPaths.ofSlot(slot))
    }
}

/// The observers of an object or of results. It is a class, because checking an optional registrar would cost more than
/// a read.
final class Observers {
    let registrar = ObservationRegistrar()
}

/// The key paths under which reads and changes are noted.
private enum ObservedKeyPaths {
    static let state: any KeyPath<ManagedObject, Bool> & Sendable = \.observedState

    /// Slots from the last one on share a key path.
    private static let slots: [any KeyPath<ManagedObject, Bool> & Sendable] = (0..<64).map { slot in
        \ManagedObject[observedSlot: slot]
    }

    static func ofSlot(_ slot: Int) -> any KeyPath<ManagedObject, Bool> & Sendable { slots[min(slot, slots.count - 1)] }
}

extension ManagedObject {
    // Never read: they only identify what observers track.
    fileprivate var observedState: Bool { false }
    fileprivate subscript(observedSlot slot: Int) -> Bool { false }
}
