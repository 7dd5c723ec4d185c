internal import Synchronization

/// The references of a stored entity, and the references from any entity that may lead to its objects, with their
/// entities and slots as numbers.
package final class EntityLinks: Sendable {
    /// The two numbers that identify a relationship in link keys: the topmost entity that has the relationship, and the
    /// relationship's slot in that entity.
    package struct Name: Hashable, Sendable {
        package let entity: Int
        package let slot: Int

        package init(entity: Int, slot: Int) { (self.entity, self.slot) = (entity, slot) }
    }

    /// A to-one relationship whose links are in the entity's records.
    package struct Reference: Sendable {
        /// The slot with the key of the related object.
        package let slot: Int
        /// The slot with the holder's position among the objects of the inverse relationship, if that is ordered.
        package let position: Int
        package let name: Name
        package let relationship: String
        package let isOptional: Bool
        /// Whether at most one object may refer to the same object, because the inverse is a to-one relationship, too.
        package let isUnique: Bool
        /// Whether the relationship is its own inverse, so that for each link, the other object has the turned link. In a
        /// join entity, only the first of its two references says so.
        package let isSymmetric: Bool
        /// The entities of the objects that the reference may lead to.
        package let destinations: Set<Int>
        /// In a join entity, the slot of the reference to the other joined object; nil in other entities. The join
        /// entity's link keys are sorted by position, then by that reference, and no two of its records have the same
        /// two references.
        package let other: Int?
        /// Whether the reference may still have the key of a deleted object.
        package let mayDangle: Bool
        /// The effect on the referenced object when an object of this entity is deleted.
        package let rule: DeleteRule
    }

    /// A reference, from any entity, that may lead to objects of this entity.
    package struct Incoming: Sendable {
        package let name: Name
        package let rule: DeleteRule
        /// This entity's relationship on the other side of the reference; nil if the reference has no inverse.
        package let relationship: String?
        /// Whether the reference belongs to a join entity.
        package let isJoin: Bool
    }

    package let references: [Reference]
    package let incoming: [Incoming]

    /// Cached paths from the entity's objects, by the paths' names.
    private let paths = Mutex<[[String]: RelatedPath]>([:])
    private static let mostPaths = 1000

    init(references: [Reference], incoming: [Incoming]) { (self.references, self.incoming) = (references, incoming) }

    func knownPath(_ names: [String]) -> RelatedPath? { paths.withLock { $0[names] } }

    func note(_ path: RelatedPath, _ names: [String]) {
        paths.withLock { paths in
            if paths.count >= Self.mostPaths { paths = [:] }
            paths[names] = path
        }
    }

    package func reference(at slot: Int) -> Reference? { references.first { $0.slot == slot } }

    /// Whether objects of the entity can't have links.
    var isEmpty: Bool { references.isEmpty && incoming.isEmpty }
}

extension Model {
    /// Whether any entity has relationships, removed ones included.
    package var hasRelationships: Bool { entities.contains { !$0.storedRelationships.isEmpty } }

    /// Returns the model with the links in its entities. The cost depends only on the size of the model.
    package func withLinks() -> Model {
        if !hasRelationships { return self }
        var model = self
        let references = entities.indices.map { self.references(of: $0) }
        for number in entities.indices where !entities[number].isDropped {
            let incoming = references.flatMap { $0 }.filter { $0.destinations.contains(number) }
            var seen: Set<EntityLinks.Name> = []
            let links = EntityLinks(
                references: references[number],
                incoming: incoming.filter { seen.insert($0.name).inserted }.map { self.incoming($0, to: number) })
            if !links.isEmpty { model.entities[number].stored.links = links }
        }
        return model
    }

    private func references(of number: Int) -> [EntityLinks.Reference] {
        let entity = entities[number]
        var sides: [(StoredRelationship, slot: Int, position: Int)] = []
        for relationship in entity.storedRelationships where !relationship.isRemoved {
            guard case .reference(let slot, let position) = relationship.storage else { continue }
            sides.append((relationship, slot, position))
        }
        return sides.compactMap { relationship, slot, position in
            let description = relationship.description
            guard let destination = try? self.number(of: description.destination) else { return nil }
            let inverse = entities[destination].relationship(named: description.inverse)?.description
            return EntityLinks.Reference(
                slot: slot, position: position, name: linkName(of: description.name, number, slot),
                relationship: description.name, isOptional: description.isOptional,
                isUnique: !entity.isJoin && inverse.map { !$0.isToMany } ?? false,
                isSymmetric: entity.isJoin ? slot == 0 && isSymmetricJoin(number) : isOwnInverse(description),
                destinations: Set(hierarchy(of: destination)),
                other: entity.isJoin ? sides.first { $0.slot != slot }?.slot : nil,
                mayDangle: inverse?.deleteRule == .noAction, rule: entity.isJoin ? .nullify : description.deleteRule)
        }
    }

    private func isSymmetricJoin(_ number: Int) -> Bool {
        entities.contains { entity in
            entity.storedRelationships.contains {
                !$0.isRemoved && $0.storage == .join(entity: number, side: 0) && isOwnInverse($0.description)
            }
        }
    }

    /// The numbers that identify a relationship in link keys, from the topmost superentity that has the relationship.
    private func linkName(of relationship: String, _ number: Int, _ slot: Int) -> EntityLinks.Name {
        for ancestor in superentities(of: number).reversed() {
            if case .reference(let slot, _) = entities[ancestor].relationship(named: relationship)?.storage {
                return EntityLinks.Name(entity: ancestor, slot: slot)
            }
        }
        return EntityLinks.Name(entity: number, slot: slot)
    }

    private func incoming(_ reference: EntityLinks.Reference, to number: Int) -> EntityLinks.Incoming {
        let holder = entities[reference.name.entity]
        let relationship: StoredRelationship?
        if holder.isJoin {
            let side = StoredRelationship.Storage.join(entity: reference.name.entity, side: reference.slot)
            relationship = entities[number].storedRelationships.first { !$0.isRemoved && $0.storage == side }
        } else {
            let inverse = holder.relationship(named: reference.relationship)?.description.inverse
            relationship = entities[number].relationship(named: inverse)
        }
        return EntityLinks.Incoming(
            name: reference.name, rule: relationship?.description.deleteRule ?? .nullify,
            relationship: relationship?.description.name, isJoin: holder.isJoin)
    }
}
