package import Values

/// How the records of an entity of a store become those of a given declaration.
package struct EntityMigration: Sendable {
    /// A value that a pass moves to a new slot, as another type.
    package struct Conversion: Sendable {
        package let from: Int
        package let to: Int
    }

    /// The number of the entity; nil for a new one.
    package let number: Int?
    package private(set) var steps: [ModelDifference.Step] = []
    package let old: Entity
    package var new: Entity { makeEntity() }
    package private(set) var conversions: [Conversion] = []
    /// Slots of values that must not be null any more, with the values that replace null; null: none does.
    package private(set) var required: [(slot: Int, replacement: Value)] = []

    private let given: Entity
    private var slots: [SlotDescription]
    private var uniqueLists: [[Int]]
    private var isEmptyOfObjects = false

    /// Of a new entity.
    package init(adding given: Entity) {
        (number, old, self.given) = (nil, Entity.dropped, given)
        slots = given.slots
        uniqueLists = given.uniqueLists
        steps = [step(.addEntity, .free, "there are no objects of it yet")]
    }

    /// Of a stored entity. Unless it is demanded, nothing changes when the store has followed the declaration before: then an
    /// older program, or one of several, opens the store. Throws `StoreError.modelMismatch` when what that program needs is gone.
    package init(of stored: Entity, number: Int, to given: Entity, isDemanded: Bool) throws {
        (self.number, old, self.given) = (number, stored, given)
        slots = stored.slots
        uniqueLists = stored.uniqueLists
        if !isDemanded && stored.declarations.contains(given.declaration) {
            try requireAttributes()
            return
        }
        for attribute in given.attributes { try add(attribute) }
        for name in given.removedAttributes { remove(name) }
        matchUniqueLists()
    }

    package var isEmpty: Bool { steps.isEmpty }

    /// The same for an entity without objects: everything is free.
    package var withoutObjects: EntityMigration {
        var migration = self
        migration.steps = steps.map { step($0.change, .free, "there are no objects of it") }
        migration.isEmptyOfObjects = true
        return migration
    }

    /// Whether records must be read. A closure may decide on values of new attributes and of changed ones.
    package func needsPass(hasConvert: Bool) -> Bool {
        number != nil && !isEmptyOfObjects && steps.contains { $0.verdict != .free || hasConvert }
    }

    private func step(
        _ change: ModelDifference.Change, _ verdict: ModelDifference.Verdict, _ reason: String
    ) -> ModelDifference.Step {
        ModelDifference.Step(entity: given.name, change: change, verdict: verdict, reason: reason)
    }

    // MARK: What an older program needs

    private func requireAttributes() throws {
        for attribute in given.attributes {
            guard let slot = old.slot(of: attribute.name) else {
                throw mismatch("its attribute \(attribute.name) was removed or renamed by a newer model")
            }
            let stored = old.attribute(at: slot)
            if stored.type != attribute.type {
                throw mismatch(
                    "its attribute \(attribute.name) is \(stored.type.name) in a newer model, and "
                        + "\(attribute.type.name) in this one")
            }
            if stored.isOptional && !attribute.isOptional {
                throw mismatch("its attribute \(attribute.name) may be null in a newer model, and not in this one")
            }
        }
    }

    private func mismatch(_ reason: String) -> StoreError { .modelMismatch(entity: given.name, reason) }

    // MARK: Attributes

    private mutating func add(_ attribute: AttributeDescription) throws {
        if let slot = liveSlot(named: attribute.name) { return change(slot, to: attribute) }
        if let former = attribute.renamedFrom, let slot = liveSlot(named: former) {
            steps.append(
                step(
                    .renameAttribute(from: former, to: attribute.name), .free,
                    "its number stays, and the old name works"))
            slots[slot].formerNames.append(former)
            slots[slot].attribute = slots[slot].attribute.with(name: attribute.name)
            return change(slot, to: attribute)
        }
        if let slot = old.slot(of: attribute.name) {
            throw mismatch("its attribute \(attribute.name) is called \(old.attribute(at: slot).name) in a newer model")
        }
        insert(attribute)
    }

    private func liveSlot(named name: String) -> Int? {
        slots.firstIndex { !$0.isRemoved && $0.attribute.name == name }
    }

    private mutating func insert(_ attribute: AttributeDescription) {
        let change = ModelDifference.Change.addAttribute(attribute.name, attribute.type)
        let hasDefault = !attribute.defaultValue.isNull
        if slots.contains(where: { $0.isRemoved && $0.attribute.name == attribute.name }) {
            steps.append(
                step(change, .pass, "an attribute of this name was removed; its old values do not come back"))
        } else if !attribute.isOptional && !hasDefault {
            steps.append(step(change, .decision, "it is required, and has no default value for the objects there are"))
        } else if attribute.isUnique && hasDefault {
            steps.append(step(change, .pass, "it is unique, and the objects there are would share its default value"))
        } else {
            let value = hasDefault ? "\(attribute.defaultValue)" : "null"
            steps.append(step(change, .free, "older records are read with \(value)"))
        }
        if !attribute.isOptional && !hasDefault { required.append((slots.count, .null)) }
        append(attribute)
    }

    private mutating func append(_ attribute: AttributeDescription) {
        let isTaken = slots.contains { $0.permanentName == attribute.name }
        slots.append(SlotDescription(attribute, permanentName: isTaken ? "\(attribute.name)~\(slots.count)" : nil))
    }

    private mutating func change(_ slot: Int, to attribute: AttributeDescription) {
        let stored = slots[slot].attribute
        if stored.type != attribute.type {
            steps.append(
                step(
                    .changeType(of: attribute.name, from: stored.type, to: attribute.type), .pass,
                    "each value is converted"))
            conversions.append(Conversion(from: slot, to: slots.count))
            slots[slot].isRemoved = true
            append(attribute.with(isOptional: stored.isOptional, isUnique: stored.isUnique))
            slots[slots.count - 1].formerNames = slots[slot].formerNames
            replaceInLists(slot, by: slots.count - 1)
        }
        let current = liveSlot(named: attribute.name) ?? slot
        if stored.isOptional && !attribute.isOptional {
            let value = attribute.defaultValue
            steps.append(
                step(
                    .makeRequired(attribute.name), .pass,
                    value.isNull ? "no object may have null" : "null becomes \(value)"))
            required.append((current, attribute.defaultValue))
        } else if !stored.isOptional && attribute.isOptional {
            steps.append(step(.makeOptional(attribute.name), .free, "every record stays valid"))
        }
        if !stored.isUnique && attribute.isUnique {
            steps.append(step(.addUniqueness([attribute.name]), .pass, "no two objects may have one value"))
        } else if stored.isUnique && !attribute.isUnique {
            steps.append(step(.removeUniqueness([attribute.name]), .pass, "its unique keys are deleted"))
        }
        slots[current].attribute = slots[current].attribute.with(
            isOptional: attribute.isOptional, isUnique: attribute.isUnique)
    }

    private mutating func remove(_ name: String) {
        guard given.slot(of: name) == nil, let slot = liveSlot(named: name) else { return }
        let attribute = slots[slot].attribute
        let isKey = attribute.isUnique || uniqueLists.contains { $0.contains(slot) }
        steps.append(
            step(
                .removeAttribute(name), isKey ? .pass : .free,
                isKey ? "its unique keys are deleted" : "older records keep its values, unread"))
        slots[slot].isRemoved = true
        slots[slot].attribute = attribute.with(isOptional: true, isUnique: false)
        for index in uniqueLists.indices where uniqueLists[index].contains(slot) { uniqueLists[index] = [] }
    }

    // MARK: Attributes that are unique together

    private mutating func replaceInLists(_ slot: Int, by other: Int) {
        for index in uniqueLists.indices {
            uniqueLists[index] = uniqueLists[index].map { $0 == slot ? other : $0 }
        }
    }

    private mutating func matchUniqueLists() {
        let wanted = given.uniqueAttributes.map { names in Set(names.compactMap { liveSlot(named: $0) }) }
        for (index, list) in uniqueLists.enumerated() where !list.isEmpty && !wanted.contains(Set(list)) {
            // A program that does not declare all of the attributes knows nothing of the list.
            let names = list.map { slots[$0].attribute.name }
            guard names.allSatisfy({ given.slot(of: $0) != nil }) else { continue }
            steps.append(step(.removeUniqueness(names), .pass, "its unique keys are deleted"))
            uniqueLists[index] = []
        }
        for (names, slots) in zip(given.uniqueAttributes, wanted)
        where !uniqueLists.contains(where: { Set($0) == slots }) {
            steps.append(step(.addUniqueness(names), .pass, "no two objects may have the same values of them"))
            uniqueLists.append(names.compactMap { liveSlot(named: $0) })
        }
    }

    // MARK: The result

    private func makeEntity() -> Entity {
        var entity = Entity(given.name, slots: slots, uniqueLists: uniqueLists)
        entity.declarations = old.declarations
        if old.declarations.isEmpty && number != nil { entity.declarations = [old.declaration] }
        if !entity.declarations.contains(given.declaration) { entity.declarations.append(given.declaration) }
        entity.passes = old.passes + (conversions.isEmpty && required.isEmpty || isEmptyOfObjects ? 0 : 1)
        return entity
    }
}

extension Model {
    /// What leads from this stored model to a given one, entity by entity; entities without a change are left out. Throws
    /// `StoreError.modelMismatch` when something that the given model needs is gone.
    package func migrations(to given: Model, isDemanded: Bool) throws -> [EntityMigration] {
        try given.entities.filter { !$0.isDropped }.map { entity in
            guard let number = entities.firstIndex(where: { $0.name == entity.name && !$0.isDropped }) else {
                return EntityMigration(adding: entity)
            }
            return try EntityMigration(of: entities[number], number: number, to: entity, isDemanded: isDemanded)
        }.filter { !$0.isEmpty }
    }

    /// The model after migrations.
    package func applying(_ migrations: [EntityMigration]) throws -> Model {
        var model = self
        for migration in migrations {
            if let number = migration.number {
                model.entities[number] = migration.new
            } else {
                model.entities.append(migration.new)
            }
        }
        try model.validate()
        return model
    }
}

extension ModelDifference {
    package init(_ migrations: [EntityMigration]) { steps = migrations.flatMap(\.steps) }
}
