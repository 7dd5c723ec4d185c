internal import FetchIndexPlatform
internal import FetchIndexModels
public import Observation
internal import FetchIndexRecords

/// Observation's tracking of what is read of objects: `withObservationTracking`, `Observations`, and views that use them.
/// An attribute is tracked by itself; the id, whether there are changes, and the like are tracked together.
extension ManagedObject: Observable {}

extension ManagedObject {
    /// Notes that an attribute is read.
    func noteRead(ofSlot slot: Int) { noteRead(ObservedKeyPaths.ofSlot(slot)) }

    /// Notes that the object's state is read: its id, or whether it has changes.
    func noteReadOfState() { noteRead(ObservedKeyPaths.state) }

    private func noteRead(_ keyPath: any KeyPath<ManagedObject, Bool> & Sendable) {
        if probe != nil { return }
        if let observers { return observers.registrar.access(self, keyPath: keyPath) }
        // Made with the first read: whether somebody observes it cannot be asked.
        let made = Observers()
        observers = made
        made.registrar.access(self, keyPath: keyPath)
    }

    /// Changes the values of attributes, which observers hear of.
    func observedChange(ofSlots slots: [Int], _ body: () -> Void) {
        guard let registrar = observers?.registrar else { return body() }
        guard let slot = slots.first else {
            return registrar.withMutation(of: self, keyPath: ObservedKeyPaths.state, body)
        }
        registrar.withMutation(of: self, keyPath: ObservedKeyPaths.ofSlot(slot)) {
            observedChange(ofSlots: Array(slots.dropFirst()), body)
        }
    }

    /// Tells observers that the object's state has changed.
    func noteChangeOfState() { if let registrar = observers?.registrar { tell(registrar, ObservedKeyPaths.state) } }

    /// Observers are notified at once and may do anything, so not while the context advances.
    private func tell(_ registrar: ObservationRegistrar, _ keyPath: any KeyPath<ManagedObject, Bool> & Sendable) {
        if let core, core.isDeferringObservations {
            core.observations.append { registrar.withMutation(of: self, keyPath: keyPath) {} }
        } else {
            registrar.withMutation(of: self, keyPath: keyPath) {}
        }
    }

    /// Tells observers that all may have changed.
    func noteChangeOfAll() {
        guard let registrar = observers?.registrar else { return }
        for slot in entity.attributeSlots + entity.relationshipSlots { noteChange(ofSlot: slot, registrar) }
        if entity.links != nil { noteChange(ofSlot: .max, registrar) }
        noteChangeOfState()
    }

    /// Tells observers which attributes another record has changed.
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

    /// Tells observers that objects of a to-many relationship have changed.
    func noteChangeOfRelated() { if let registrar = observers?.registrar { noteChange(ofSlot: .max, registrar) } }

    private func noteChange(ofSlot slot: Int, _ registrar: ObservationRegistrar) {
        tell(registrar, ObservedKeyPaths.ofSlot(slot))
    }
}

/// The observers of an object or of results. A class, since asking whether there is a registrar costs more than a read.
final class Observers {
    let registrar = ObservationRegistrar()
}

/// The names under which reads and changes are noted.
private enum ObservedKeyPaths {
    static let state: any KeyPath<ManagedObject, Bool> & Sendable = \.observedState

    /// Slots from the last one on share a name.
    private static let slots: [any KeyPath<ManagedObject, Bool> & Sendable] = (0..<64).map { slot in
        \ManagedObject[observedSlot: slot]
    }

    static func ofSlot(_ slot: Int) -> any KeyPath<ManagedObject, Bool> & Sendable { slots[min(slot, slots.count - 1)] }
}

extension ManagedObject {
    // Never read: they only stand for what observers track.
    fileprivate var observedState: Bool { false }
    fileprivate subscript(observedSlot slot: Int) -> Bool { false }
}
