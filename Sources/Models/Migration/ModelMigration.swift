/// The migration of a stored model to a declared one, in parts that follow each other. Most migrations have only `changes`.
package struct ModelMigration: Sendable {
    /// The stored model with the new names of its entities.
    package let renamed: Model
    package let renamesEntities: Bool
    /// Removes relationships whose links are stored anew, and relationships of dropped entities.
    package private(set) var removals: [EntityMigration]
    /// The entities that are dropped, subentities first.
    package let dropped: [Int]
    /// All other changes. Relationships whose links are stored anew may be nil.
    package private(set) var changes: [EntityMigration]
    package let relinked: [RelinkedRelationship]
    /// Makes relationships required whose links are stored anew.
    package private(set) var rules: [EntityMigration]
    /// The store's named requests after the migration; nil if they don't change.
    package let requests: [NamedRequest]?
    /// The first steps, for new names of entities.
    private var steps: [ModelDifference.Step] = []

    /// Whether nothing changes: no steps are needed, and the store has followed the declarations before.
    package var isEmpty: Bool {
        !renamesEntities && removals.isEmpty && dropped.isEmpty && changes.isEmpty && rules.isEmpty
            && requests == nil
    }

    /// Whether only declarations that are new to the store are noted.
    package var isNote: Bool {
        !renamesEntities && removals.isEmpty && dropped.isEmpty && rules.isEmpty && requests == nil
            && changes.allSatisfy(\.steps.isEmpty)
    }

    package mutating func change(_ body: (inout EntityMigration) throws -> Void) rethrows {
        for index in removals.indices { try body(&removals[index]) }
        for index in changes.indices { try body(&changes[index]) }
        for index in rules.indices { try body(&rules[index]) }
    }

    /// The migration of a stored model. Throws `ModelError.mismatch` if an entity can't be migrated, or doesn't fit the
    /// given model. `EntityMigration` describes the parameters.
    package init(from stored: Model, to given: Model, isDemanded: Bool, hasClosure: Bool) throws {
        let renames = try stored.entityRenames(to: given)
        let model = stored.renaming(renames)
        let dropped = try model.entitiesDropped(by: given, isDemanded: isDemanded)
        let relinked = model.relinked(to: given, isDemanded: isDemanded)
        let cleared = model.removing(relinked, dropped: dropped, given, isDemanded: isDemanded)
        let removals = try cleared.map { try model.migrations(to: $0, isDemanded: true, hasClosure: false) } ?? []
        var base = try model.applying(removals)
        base.drop(dropped)
        let relaxed = given.relaxed(for: relinked)
        let demanded = Set(relinked.flatMap(\.gained.keys))
        let changes = try base.migrations(
            to: relaxed ?? given, isDemanded: isDemanded, of: demanded, hasClosure: hasClosure)
        let changed = try base.applying(changes)
        let rules =
            try relaxed == nil
            ? [] : changed.migrations(to: given, isDemanded: isDemanded, of: demanded, hasClosure: false)
        // Throws if the given model and what it leaves in the store don't fit together.
        try changed.applying(rules).requireFittingSides()
        let requests = model.requests(after: given, isDemanded: isDemanded, dropped: dropped)
        self.requests = requests == model.requests ? nil : requests
        (renamed, renamesEntities) = (model, !renames.isEmpty)
        (self.removals, self.dropped, self.changes) = (removals, dropped, changes)
        (self.relinked, self.rules) = (relinked, rules)
        steps = renames.map { rename in
            ModelDifference.Step(
                entity: rename.name, change: .renameEntity(from: stored.entities[rename.number].name), verdict: .free,
                reason: "no record changes")
        }
    }

    /// The steps, with the costs for a store that has objects of the entities with the given numbers.
    package func difference(hasObjects: (Int) throws -> Bool) rethrows -> ModelDifference {
        var difference = ModelDifference()
        difference.steps = steps + removals.flatMap(\.steps).filter { !isOfRelinked($0) }
        difference.steps += try dropped.map { number in
            let hasObjects = try hasObjects(number)
            return ModelDifference.Step(
                entity: renamed.entities[number].name, change: .removeEntity, verdict: hasObjects ? .pass : .free,
                reason: hasObjects ? "its objects are deleted" : "it has no objects")
        }
        for relinked in relinked {
            let isStored = try renamed.hierarchy(of: relinked.stored.entity).contains(where: hasObjects)
            for var step in relinked.steps {
                if !isStored {
                    step = .init(
                        entity: step.entity, change: step.change, verdict: .free, reason: "it has no objects")
                }
                difference.steps.append(step)
            }
        }
        difference.steps += changes.flatMap(\.steps).filter { !isOfRelinked($0) }
        difference.steps += rules.flatMap(\.steps).filter { !isKept($0) }
        if let requests { difference.steps += renamed.steps(to: requests) }
        return difference
    }

    /// Whether a step removes or adds a relationship whose links are stored anew.
    private func isOfRelinked(_ step: ModelDifference.Step) -> Bool {
        switch step.change {
        case .removeRelationship(let name): relinked.contains { $0.hadName(name, step.entity, in: renamed) }
        case .addRelationship(let name, _, _): relinked.contains { $0.getsName(name, step.entity) }
        default: false
        }
    }

    /// Whether a step makes a relationship required that was required before.
    private func isKept(_ step: ModelDifference.Step) -> Bool {
        guard case .makeRequired(let name) = step.change else { return false }
        return relinked.contains { $0.getsName(name, step.entity) && $0.wasRequired(name, step.entity, in: renamed) }
    }
}

extension Model {
    /// The steps that replace the named requests.
    fileprivate func steps(to requests: [NamedRequest]) -> [ModelDifference.Step] {
        func step(_ request: NamedRequest, _ change: ModelDifference.Change) -> ModelDifference.Step {
            ModelDifference.Step(
                entity: request.entity, change: change, verdict: .free, reason: "it is only stored")
        }
        let set = requests.filter { !self.requests.contains($0) }.map { step($0, .setRequest($0.name)) }
        let gone = self.requests.filter { old in !requests.contains { $0.name == old.name } }
        return set + gone.map { step($0, .removeRequest($0.name)) }
    }

    /// The entities that a given model drops, subentities first. If the migration isn't demanded, an entity that was
    /// dropped before stays, because a newer program has added it again. Throws `ModelError.mismatch` if a subentity
    /// would stay.
    fileprivate func entitiesDropped(by given: Model, isDemanded: Bool) throws -> [Int] {
        let numbers = given.removedEntities.compactMap { name -> Int? in
            let wasDropped = entities.contains { $0.isDropped && $0.stored.formerNames.contains(name) }
            return wasDropped && !isDemanded ? nil : try? number(of: name)
        }
        for number in numbers {
            guard let left = hierarchy(of: number).first(where: { !numbers.contains($0) }) else { continue }
            throw ModelError.mismatch(
                entity: entities[number].name, "it cannot be dropped while its subentity \(entities[left].name) stays")
        }
        return Set(numbers).sorted { (superentities(of: $0).count, $0) > (superentities(of: $1).count, $1) }
    }

    fileprivate mutating func drop(_ numbers: [Int]) { for number in numbers { drop(number) } }

    /// This stored model without relationships whose links are stored anew, relationships of dropped entities, and
    /// relationships whose other sides a given model removes. Nil if nothing must go.
    fileprivate func removing(
        _ relinked: [RelinkedRelationship], dropped: [Int], _ given: Model, isDemanded: Bool
    ) -> Model? {
        // Programs open stores with their models, which nearly always remove nothing.
        if relinked.isEmpty && dropped.isEmpty && given.entities.allSatisfy(\.removedAttributes.isEmpty) { return nil }
        var gone: [Int: Set<String>] = [:]
        func remove(_ name: String, from number: Int) {
            for member in hierarchy(of: number) { gone[member, default: []].insert(name) }
        }
        for side in relinked.flatMap(\.sides) { remove(side.name, from: side.entity) }
        for (number, entity) in entities.enumerated() where !entity.isDropped && !entity.isJoin {
            for relationship in entity.relationships {
                guard let other = try? self.number(of: relationship.destination) else { continue }
                let isKnown = entities[other].declarations.contains {
                    $0.checksum == given.entity(named: relationship.destination)?.declaration
                }
                // What a dropped entity inherits stays in its superentity.
                let isLost =
                    dropped.contains(other) || dropped.contains(side(relationship.name, of: number).entity)
                if isLost || (isDemanded || !isKnown) && given.removes(relationship, of: entity) {
                    remove(relationship.name, from: number)
                    if let inverse = relationship.inverse { remove(inverse, from: other) }
                }
            }
        }
        if gone.isEmpty { return nil }
        return Model(
            entities: zip(entities.indices, entities).filter { !$1.isDropped && !$1.isJoin }.map { number, entity in
                entity.removing { gone[number]?.contains($0) ?? false }
            })
    }

    /// Whether this model removes the other side of a stored relationship that it doesn't declare itself.
    private func removes(_ relationship: RelationshipDescription, of stored: Entity) -> Bool {
        guard let inverse = relationship.inverse, let other = entity(named: relationship.destination),
            other.removedAttributes.contains(inverse)
        else { return false }
        return entity(named: stored.name).map { $0.relationship(named: relationship.name) == nil } ?? true
    }

    /// This model without the requirement that relationships whose links are stored anew aren't nil; nil if it has none.
    fileprivate func relaxed(for relinked: [RelinkedRelationship]) -> Model? {
        func isRelaxed(_ name: String, _ entity: String) -> Bool { relinked.contains { $0.getsName(name, entity) } }
        let isNeeded = entities.contains { entity in
            entity.relationships.contains { !$0.isOptional && isRelaxed($0.name, entity.name) }
        }
        if !isNeeded { return nil }
        return Model(
            entities: entities.map { entity in
                Entity(
                    entity.name, entity.attributes,
                    relationships: entity.relationships.map {
                        isRelaxed($0.name, entity.name) ? $0.changed(isOptional: true) : $0
                    },
                    unique: entity.uniqueAttributes, indexes: entity.indexes, removed: entity.removedAttributes,
                    removedIndexes: entity.removedIndexes, superentity: entity.superentity,
                    isAbstract: entity.isAbstract, renamedFrom: entity.renamedFrom)
            }, removed: removedEntities)
    }
}
