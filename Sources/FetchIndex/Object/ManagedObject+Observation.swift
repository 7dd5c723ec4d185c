internal import FetchIndexPlatform
internal import FetchIndexModels
public import Observation
internal import FetchIndexRecords

/// Observation tracks reads of an object's properties, for `withObservationTracking`, `Observations` and views.
/// Attributes and to-one references in the first 63 slots are tracked one by one. One tracked property is shared by all
/// later slots and by all relationships that other objects' records store, such as to-many relationships. The id,
/// `hasChanges` and similar properties share another one.
extension ManagedObject: Observable {}

extension ManagedObject {
    /// Reports a read of an attribute to Observation.
    func noteRead(ofSlot slot: Int) { noteRead(ObservedKeyPaths.ofSlot(slot)) }

    /// Reports a read of the object's state, such as its id or whether it has changes, to Observation.
    func noteReadOfState() { noteRead(ObservedKeyPaths.state) }

    private func noteRead(_ keyPath: any KeyPath<ManagedObject, Bool> & Sendable) {
        if probe != nil { return }
        if let observers { return observers.registrar.access(self, keyPath: keyPath) }
        // The registrar is created at the first read, because Observation doesn't report whether a read is observed.
        let made = Observers()
        observers = made
        made.registrar.access(self, keyPath: keyPath)
    }

    /// Runs a body that changes the values of attributes, and notifies observers.
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

    /// Notifies observers. While the context advances or rolls back, the notification is deferred, because observers
    /// may run any code.
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

    /// Notifies observers of the attributes and to-one references that differ between two records, and of the object's
    /// state. If a record can't be read, notifies observers of all properties.
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

    /// Notifies observers that links to this object may have changed. These links are the values of its to-many
    /// relationships, and of to-one relationships that the related object's record stores.
    func noteChangeOfRelated() { if let registrar = observers?.registrar { noteChange(ofSlot: .max, registrar) } }

    private func noteChange(ofSlot slot: Int, _ registrar: ObservationRegistrar) {
        tell(registrar, ObservedKeyPaths.ofSlot(slot))
    }
}

/// The observers of an object or of a controller's results. It's a class, because each read checks whether there are
/// observers, and checking an optional registrar would cost more.
final class Observers {
    let registrar = ObservationRegistrar()
}

/// The key paths with which reads and changes are reported to Observation.
private enum ObservedKeyPaths {
    static let state: any KeyPath<ManagedObject, Bool> & Sendable = \.observedState

    /// Slots that are too large for this list share the last key path.
    private static let slots: [any KeyPath<ManagedObject, Bool> & Sendable] = (0..<64).map { slot in
        \ManagedObject[observedSlot: slot]
    }

    static func ofSlot(_ slot: Int) -> any KeyPath<ManagedObject, Bool> & Sendable { slots[min(slot, slots.count - 1)] }
}

extension ManagedObject {
    // These properties aren't read: their key paths only identify tracked state.
    fileprivate var observedState: Bool { false }
    fileprivate subscript(observedSlot slot: Int) -> Bool { false }
}
