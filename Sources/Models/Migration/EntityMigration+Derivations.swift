extension EntityMigration {
    /// Gives derived attributes new slots, like converted ones: a pass that rewrites records recomputes derived values,
    /// and these may change.
    mutating func renewDerivedAttributes() {
        for slot in old.slots.indices where !slots[slot].isRemoved && slots[slot].attribute.derivation != nil {
            let new = slots.count
            append(slots[slot].attribute)
            slots[new].formerNames = slots[slot].formerNames
            slots[slot].isRemoved = true
            slots[slot].attribute = slots[slot].attribute.with(isOptional: true, isUnique: false).derived(by: nil)
            replaceInLists(slot, by: new)
        }
    }

    /// Throws if the migration gives a name in an unchanged derivation to another stored attribute, which would
    /// change the derivation's meaning.
    func requireDerivations() throws {
        let kept = slots.filter { new in
            !new.isRemoved && new.attribute.derivation != nil
                && old.slots.contains { $0.attribute.derivation == new.attribute.derivation }
        }
        if kept.isEmpty { return }
        let entity = makeEntity()
        for slot in old.attributeSlots {
            for name in [old.attribute(at: slot).name] + old.slots[slot].formerNames where old.slot(of: name) == slot {
                guard let found = entity.slot(of: name), found != slot, found < old.slots.count,
                    let derived = kept.first(where: { $0.attribute.derivation?.mentions(name) ?? false })
                else { continue }
                throw mismatch(
                    "its attribute \(derived.attribute.name) is derived by \"\(derived.attribute.derivation ?? "")\", where "
                        + "\(name) would mean another attribute than before")
            }
        }
    }
}
