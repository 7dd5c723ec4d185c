extension EntityMigration {
    /// Takes former names from attributes that the declaration has under their present names, if it uses these names for
    /// others.
    mutating func freeNames() {
        let declared = Set(given.attributes.map(\.name))
        for slot in slots.indices where declared.contains(slots[slot].attribute.name) {
            let kept = slots[slot].formerNames.filter { !used.contains($0) }
            freesNames = freesNames || kept.count < slots[slot].formerNames.count
            slots[slot].formerNames = kept
        }
    }
}
