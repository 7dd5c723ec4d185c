package import FetchIndexValues

/// The migration of one entity, with its records, to a declaration.
package struct EntityMigration: Sendable {
    /// A value that a migration pass moves to a new slot, converted if the types differ.
    package struct Conversion: Sendable {
        package let from: Int
        package let to: Int
    }

    /// The number of the entity; nil for a new one.
    package let number: Int?
    package internal(set) var steps: [ModelDifference.Step] = []
    package let old: Entity
    package var new: Entity { makeEntity() }
    package private(set) var conversions: [Conversion] = []
    /// Slots that become required, with the value that replaces null in each. If the replacement is null, an object
    /// without a value makes the migration fail.
    package internal(set) var required: [(slot: Int, replacement: Value)] = []

    let given: Entity
    var slots: [SlotDescription]
    var uniqueLists: [[Int]]
    var indexKeys: [[IndexKey]]
    var relationships: [StoredRelationship]
    /// A new entity's name in the identities of caches, if it isn't the entity's own.
    var permanentName: String?
    private let hasClosure: Bool
    private let isDemanded: Bool
    /// The names that the declared entity, its superentities and its subentities use. In a demanded migration, they are
    /// former names of no other attribute any more.
    let used: Set<String>
    /// Whether an attribute loses a former name.
    var freesNames = false
    private var isEmptyOfObjects = false
    /// Whether derived values must be computed.
    private var computesValues = false
    /// Whether this declaration is new to the store.
    private var isUnknown = false
    /// Whether a relationship gets another inverse, or none.
    var changesInverses = false

    /// Adds a new entity.
    init(adding given: Entity, used: Set<String>, _ storage: (RelationshipDescription) -> NewStorage) throws {
        (number, old, self.given, hasClosure, isDemanded) = (nil, Entity.dropped, given, false, false)
        self.used = used
        slots = given.slots
        for slot in slots.indices { slots[slot].noteFormerName(unlessIn: used) }
        (uniqueLists, indexKeys, relationships) = ([], [], [])
        // If the declared model was read from a store, its relationships have slots. They are marked as removed,
        // because the migration adds its own.
        for slot in given.relationshipSlots { slots[slot].isRemoved = true }
        try matchRelationships(storage)
        try matchUniqueLists()
        try matchIndexes()
        steps = [step(.addEntity, .free, "it has no objects yet")]
    }

    /// Adds the join entity of a new many-to-many relationship.
    init(adding join: Entity) {
        (number, old, given, hasClosure, isDemanded) = (nil, Entity.dropped, join, false, false)
        used = []
        (slots, uniqueLists, indexKeys) = (join.slots, [], [])
        relationships = join.storedRelationships
    }

    /// Gives the addition the cost of a pass: the indexes of a superentity are rebuilt, because they must include the
    /// objects of this new subentity.
    mutating func rebuildIndexes(of superentity: String) {
        steps = [
            step(.addEntity, .pass, "the indexes of \(superentity) are built again, to include objects of this entity")
        ]
    }

    /// If there are steps and all are free, gives the first one the cost of a pass: the unique keys are written again,
    /// because a unique constraint of the hierarchy, or its owner, changes.
    mutating func renewKeys() {
        guard let first = steps.first, !steps.contains(where: { $0.verdict != .free }) else { return }
        steps[0] = step(first.change, .pass, "the unique keys of its hierarchy are written again")
    }

    /// Migrates a stored entity. If the store has followed the declaration before, and the migration isn't demanded,
    /// nothing changes: the declaration may belong to an older program, or to one of several programs. Throws
    /// `ModelError.mismatch` if the stored entity can't be migrated to the declaration, or doesn't fit it.
    ///
    /// `hasClosure` tells whether a closure provides values. An attribute whose values a pass changes gets a new slot,
    /// so that caches, unique keys and older records of the attribute aren't mistaken for those of the new values.
    init(
        of stored: Entity, number: Int, to given: Entity, isDemanded: Bool, hasClosure: Bool, used: Set<String> = [],
        _ storage: (RelationshipDescription) -> NewStorage
    ) throws {
        (self.number, old, self.given) = (number, stored, given)
        (self.hasClosure, self.isDemanded, self.used) = (hasClosure, isDemanded, used)
        slots = stored.slots
        uniqueLists = stored.uniqueLists
        indexKeys = stored.indexKeys
        relationships = stored.storedRelationships
        // A program may omit a stored superentity from its declaration.
        if let wanted = given.superentity, wanted != stored.superentity {
            throw mismatch(
                "it is \(stored.superentity.map { "a subentity of \($0)" } ?? "an entity of its own") in the store, and a "
                    + "subentity of \(wanted) in the model")
        }
        let isKnown = stored.declarations.contains { $0.checksum == given.declaration }
        if !isDemanded && isKnown {
            try stored.requireAttributes(of: given)
            return
        }
        freeNames()
        for name in given.removedAttributes { remove(name) }
        // A current name takes precedence over a former one.
        let present = Set(given.attributes.map(\.name)).intersection(stored.attributes.map(\.name))
        for attribute in given.attributes { try add(attribute, present: present) }
        try matchRelationships(storage)
        if rewritesRecords { renewDerivedAttributes() }
        try requireDerivations()
        try matchUniqueLists()
        try matchIndexes()
        if given.isAbstract != stored.isAbstract {
            note(.changeAbstract(to: given.isAbstract), .free, "no record changes")
        }
        isUnknown = !isKnown
    }

    /// Whether nothing changes: no steps are needed, and the store has followed the declaration before.
    package var isEmpty: Bool { steps.isEmpty && !isUnknown && !changesInverses && !freesNames }

    /// Returns the migration for an entity without objects, in which every step is free.
    package var withoutObjects: EntityMigration {
        var migration = self
        migration.steps = steps.map { step($0.change, .free, "it has no objects") }
        migration.isEmptyOfObjects = true
        return migration
    }

    /// Whether a pass must read or write the objects' records or unique keys.
    package var needsPass: Bool {
        number != nil && !isEmptyOfObjects && (rewritesRecords || steps.contains { $0.verdict != .free })
    }

    /// Whether a pass changes the bytes of records.
    package var rewritesRecords: Bool {
        !isEmptyOfObjects && (hasClosure && !steps.isEmpty || !conversions.isEmpty || computesValues)
    }

    private func step(
        _ change: ModelDifference.Change, _ verdict: ModelDifference.Verdict, _ reason: String
    ) -> ModelDifference.Step {
        ModelDifference.Step(entity: given.name, change: change, verdict: verdict, reason: reason)
    }

    mutating func note(_ change: ModelDifference.Change, _ verdict: ModelDifference.Verdict, _ reason: String) {
        steps.append(step(change, verdict, reason))
    }

    func mismatch(_ reason: String) -> ModelError { .mismatch(entity: given.name, reason) }

    // MARK: Attributes

    private mutating func add(_ attribute: AttributeDescription, present: Set<String>) throws {
        if present.contains(attribute.name), let slot = liveSlot(named: attribute.name) {
            return change(slot, to: attribute)
        }
        // An attribute that this migration has just added isn't the former one.
        if let former = attribute.renamedFrom, let slot = liveSlot(named: former), slot < old.slots.count {
            if present.contains(former) {
                throw mismatch("\(attribute.name) is renamed from \(former), which the model declares too")
            }
            note(
                .renameAttribute(from: former, to: attribute.name), .free,
                "no record changes, and the old name still works")
            if !used.contains(former) { slots[slot].formerNames.append(former) }
            slots[slot].attribute = slots[slot].attribute.with(name: attribute.name)
            return change(slot, to: attribute)
        }
        let other = slots[..<old.slots.count].first {
            !$0.isRemoved && $0.role == .attribute && $0.formerNames.contains(attribute.name)
        }
        if let other { throw mismatch("its attribute \(attribute.name) is called \(other.attribute.name) now") }
        insert(attribute)
    }

    func liveSlot(named name: String) -> Int? {
        slots.firstIndex { !$0.isRemoved && $0.role == .attribute && $0.attribute.name == name }
    }

    private mutating func insert(_ attribute: AttributeDescription) {
        let change = ModelDifference.Change.addAttribute(attribute.name, attribute.type)
        let hasDefault = !attribute.defaultValue.isNull
        if attribute.derivation != nil {
            note(change, .pass, "it is computed for each object")
            computesValues = true
            return append(attribute)
        }
        if slots.contains(where: { $0.isRemoved && $0.role == .attribute && $0.attribute.name == attribute.name }) {
            note(change, .pass, "an attribute of this name was removed; its old values do not come back")
        } else if !attribute.isOptional && !hasDefault {
            note(change, .decision, "it is required, but has no default value for existing objects")
        } else if attribute.isUnique && hasDefault {
            note(change, .pass, "it is unique, but existing objects would share its default value")
        } else {
            let value = hasDefault ? "\(attribute.defaultValue)" : "null"
            note(change, .free, "older records are read with \(value)")
        }
        if !attribute.isOptional && !hasDefault { required.append((slots.count, .null)) }
        append(attribute)
    }

    mutating func append(_ attribute: AttributeDescription, _ role: SlotRole = .attribute) {
        var permanentName = attribute.name
        while slots.contains(where: { $0.permanentName == permanentName }) { permanentName += "~\(slots.count)" }
        slots.append(SlotDescription(attribute, permanentName: permanentName, role: role))
        slots[slots.count - 1].noteFormerName(unlessIn: used)
    }

    private mutating func change(_ slot: Int, to attribute: AttributeDescription) {
        let stored = slots[slot].attribute
        let isRequired = stored.isOptional && !attribute.isOptional
        let hasOtherType = stored.type != attribute.type
        if hasOtherType {
            note(
                .changeType(of: attribute.name, from: stored.type, to: attribute.type), .pass, "each value is converted"
            )
        }
        // If the declaration has no derivation, the stored attribute keeps its derivation unless the migration is
        // demanded.
        let derivation = attribute.derivation ?? (isDemanded ? nil : stored.derivation)
        let isDerivedAnew = derivation != nil && derivation != stored.derivation
        if derivation != stored.derivation {
            note(
                .changeDerivation(of: attribute.name, to: derivation), isDerivedAnew ? .pass : .free,
                isDerivedAnew ? "it is computed for each object" : "its values stay")
        }
        computesValues = computesValues || isDerivedAnew
        var current = slot
        if hasOtherType || isDerivedAnew || isRequired && (hasClosure || !attribute.defaultValue.isNull) {
            current = replace(slot, by: attribute.derived(by: derivation), converts: !isDerivedAnew)
        }
        if isRequired && !isDerivedAnew { required.append((current, attribute.defaultValue)) }
        noteRules(of: attribute, before: stored)
        slots[current].attribute = slots[current].attribute.with(
            isOptional: attribute.isOptional, isUnique: attribute.isUnique
        ).derived(by: derivation)
    }

    /// Replaces a slot by a new one, with the old rules until the end of the change. Returns the new slot.
    private mutating func replace(_ slot: Int, by attribute: AttributeDescription, converts: Bool) -> Int {
        let stored = slots[slot].attribute
        let new = slots.count
        if converts { conversions.append(Conversion(from: slot, to: new)) }
        slots[slot].isRemoved = true
        slots[slot].attribute = stored.with(isOptional: true, isUnique: false).derived(by: nil)
        append(attribute.with(isOptional: stored.isOptional, isUnique: stored.isUnique))
        slots[new].formerNames = slots[slot].formerNames
        replaceInLists(slot, by: new)
        return new
    }

    private mutating func noteRules(of attribute: AttributeDescription, before stored: AttributeDescription) {
        if stored.isOptional && !attribute.isOptional {
            let value = attribute.defaultValue
            let reason = value.isNull ? "no object may have null" : "null becomes \(value)"
            note(.makeRequired(attribute.name), .pass, reason)
        } else if !stored.isOptional && attribute.isOptional {
            note(.makeOptional(attribute.name), .free, "every record stays valid")
        }
        if !stored.isUnique && attribute.isUnique {
            note(.addUniqueness([attribute.name]), .pass, "no two objects may have the same value, except null")
        } else if stored.isUnique && !attribute.isUnique {
            note(.removeUniqueness([attribute.name]), .pass, "its unique keys are deleted")
        }
    }

    private mutating func remove(_ name: String) {
        if let index = liveRelationship(named: name) { return removeRelationship(index) }
        guard let slot = liveSlot(named: name) else { return }
        let attribute = slots[slot].attribute
        let isKey = attribute.isUnique || uniqueLists.contains { $0.contains(slot) }
        removeFromLists(slot)
        note(
            .removeAttribute(name), isKey ? .pass : .free,
            isKey ? "its unique keys are deleted" : "older records keep its values, unread")
        slots[slot].isRemoved = true
        slots[slot].attribute = attribute.with(isOptional: true, isUnique: false).derived(by: nil)
    }
}
