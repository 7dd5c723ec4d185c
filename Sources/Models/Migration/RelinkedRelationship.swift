/// A relationship whose links a migration reads, and stores anew in another form: it or its other side leads to objects of
/// another entity, to one object instead of many, or to many instead of one.
package struct RelinkedRelationship: Sendable {
    /// A side of the stored relationship, in the topmost entity that has it.
    package struct Side: Hashable, Sendable {
        package let entity: Int
        package let name: String
    }

    package let stored: Side
    /// The stored other side, if any.
    package let inverse: Side?
    /// The entity and the name that the relationship gets.
    package let entity: String
    package let name: String
    let steps: [ModelDifference.Step]
    /// The relationships that the sides become, by the names of the entities that have them, with their subentities.
    let gained: [String: Set<String>]
    /// Whether objects may stay related.
    package let keepsLinks: Bool

    var sides: [Side] { [stored] + (inverse.map { [$0] } ?? []) }

    func hadName(_ name: String, _ entity: String, in model: Model) -> Bool {
        guard let number = try? model.number(of: entity) else { return false }
        return sides.contains { $0.name == name && model.hierarchy(of: $0.entity).contains(number) }
    }

    func getsName(_ name: String, _ entity: String) -> Bool { gained[entity]?.contains(name) ?? false }

    func wasRequired(_ name: String, _ entity: String, in model: Model) -> Bool {
        sides.contains { side in
            let stored = model.entities[side.entity]
            return side.name == name && stored.relationship(named: name)?.description.isOptional == false
        }
    }
}

extension Model {
    /// The relationships of this stored model whose links a migration to a given model stores anew.
    func relinked(to given: Model, isDemanded: Bool) -> [RelinkedRelationship] {
        var found: [RelinkedRelationship] = []
        var known: Set<RelinkedRelationship.Side> = []
        for entity in given.entities where !entity.isDropped && !entity.relationships.isEmpty {
            guard let old = self.entity(named: entity.name), let number = try? number(of: entity.name) else { continue }
            let checksum = isDemanded ? nil : entity.declaration
            if old.declarations.contains(where: { $0.checksum == checksum }) { continue }
            for new in entity.relationships {
                let stored =
                    old.relationships.first { $0.name == new.name }
                    ?? old.relationships.first { $0.name == new.renamedFrom }
                guard let stored, isRelinked(stored, new, in: given) else { continue }
                let side = side(stored.name, of: number)
                if known.contains(side) { continue }
                // The relationship may have moved to a superentity.
                let top = given.topmost(new.name, of: entity)
                let relinked = relinked(stored, side, new, top, in: given, isDemanded: isDemanded)
                found.append(relinked)
                known.formUnion(relinked.sides)
            }
        }
        return found
    }

    /// The topmost entity, from an entity upwards, that has a relationship.
    private func topmost(_ name: String, of entity: Entity) -> Entity {
        guard let number = try? number(of: entity.name) else { return entity }
        return superentities(of: number).map { entities[$0] }.last { $0.relationship(named: name) != nil } ?? entity
    }

    /// The side of a relationship in the topmost entity that has it.
    func side(_ name: String, of number: Int) -> RelinkedRelationship.Side {
        let top = superentities(of: number).last { entities[$0].relationships.contains { $0.name == name } }
        return RelinkedRelationship.Side(entity: top ?? number, name: name)
    }

    private func otherSide(of relationship: RelationshipDescription) -> RelationshipDescription? {
        entity(named: relationship.destination)?.relationships.first { $0.name == relationship.inverse }
    }

    private func isRelinked(
        _ stored: RelationshipDescription, _ new: RelationshipDescription, in given: Model
    ) -> Bool {
        let inverse = given.otherSide(of: new)
        // Otherwise, the given model adds another relationship, and knows nothing of the stored other side.
        let isSame =
            stored.inverse == nil || stored.inverse == new.inverse || stored.inverse == inverse?.renamedFrom
            || stored.inverse.map { given.entity(named: stored.destination)?.removedAttributes.contains($0) ?? false }
                ?? false
        // Without an inverse, links are stored as if it led to many objects.
        return isSame
            && (stored.isToMany != new.isToMany || stored.destination != new.destination
                || isOwnInverse(stored) != given.isOwnInverse(new)
                || (otherSide(of: stored)?.isToMany ?? true) != (inverse?.isToMany ?? true))
    }

    private func relinked(
        _ stored: RelationshipDescription, _ side: RelinkedRelationship.Side, _ new: RelationshipDescription,
        _ entity: Entity, in given: Model, isDemanded: Bool
    ) -> RelinkedRelationship {
        let inverse: RelinkedRelationship.Side? = stored.inverse.flatMap { name in
            (try? number(of: stored.destination)).map { self.side(name, of: $0) }
        }
        let newInverse = given.isOwnInverse(new) ? nil : given.otherSide(of: new)
        let near = (old: entities[side.entity].name, new: newInverse?.destination ?? entity.name)
        let far = (old: stored.destination, new: new.destination)
        let fits = [near, far].map { given.kinship(of: $0.old, $0.new) }
        let keepsLinks = !fits.contains(.none)
        let keepsAll = fits.allSatisfy { $0 == .widened }
        let reason =
            keepsAll
            ? "its links are stored anew"
            : keepsLinks
                ? "its links are stored anew, and those to objects of other entities are deleted"
                : "its links are deleted, because it leads elsewhere"
        let verdict: ModelDifference.Verdict = keepsAll || isDemanded ? .pass : .decision
        func step(_ relationship: RelationshipDescription, _ entity: String) -> ModelDifference.Step {
            ModelDifference.Step(
                entity: entity,
                change: .changeDestination(
                    of: relationship.name, to: relationship.destination, isToMany: relationship.isToMany),
                verdict: verdict, reason: reason)
        }
        var gained: [String: Set<String>] = [:]
        for (name, top) in [(new.name, near.new)] + (newInverse.map { [($0.name, far.new)] } ?? []) {
            guard let number = try? given.number(of: top) else { continue }
            for member in given.hierarchy(of: number) { gained[given.entities[member].name, default: []].insert(name) }
        }
        return RelinkedRelationship(
            stored: side, inverse: inverse, entity: entity.name, name: new.name,
            steps: [step(new, entity.name)] + (newInverse.map { [step($0, new.destination)] } ?? []), gained: gained,
            keepsLinks: keepsLinks)
    }

    private enum Kinship { case widened, narrowed, none }

    /// How an entity that relationships led to and the one that they lead to are related in this model.
    private func kinship(of old: String, _ new: String) -> Kinship {
        if old == new { return .widened }
        guard let inner = entity(named: old), let outer = entity(named: new) else { return .none }
        if isSubentity(inner, of: new) { return .widened }
        return isSubentity(outer, of: old) ? .narrowed : .none
    }
}
