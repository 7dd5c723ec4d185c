internal import ArgumentParser
internal import FetchIndex

/// Renames and removals of an entity's relationships, and the changes of inverses that follow from them.
struct RelationshipChanges {
    private let entity: Entity
    private let model: Model
    /// The new names of renamed relationships, by old name.
    private let renamed: [String: String]
    private let dropped: Set<String>

    /// Takes the names of relationships out of `rename` and `drop`; the caller treats the others as names of
    /// attributes. Throws for an inherited relationship, for one that is both renamed and dropped, and for a new name
    /// that the entity already has.
    init(of entity: Entity, in model: Model, rename: inout [(old: String, new: String)], drop: inout [String]) throws {
        func isRelationship(_ name: String) -> Bool { entity.relationships.contains { $0.name == name } }
        self.entity = entity
        self.model = model
        renamed = Dictionary(rename.filter { isRelationship($0.old) }.map { ($0.old, $0.new) }) { _, last in last }
        dropped = Set(drop.filter(isRelationship))
        rename.removeAll { isRelationship($0.old) }
        drop.removeAll(where: isRelationship)
        for name in dropped.union(renamed.keys).sorted() {
            if let owner = model.entity(named: entity.superentity ?? ""),
                owner.relationships.contains(where: { $0.name == name })
            {
                throw ValidationError(
                    "\(entity.name) inherits \(name) from \(owner.name); pass --entity \(owner.name) to change it.")
            }
            if dropped.contains(name), renamed[name] != nil {
                throw ValidationError("\(entity.name).\(name) is both renamed and dropped.")
            }
        }
        for (old, new) in renamed.sorted(by: <) {
            let names = entity.attributes.map(\.name) + entity.relationships.map(\.name)
            if names.contains(new) {
                throw ValidationError(
                    "\(entity.name).\(old) cannot be renamed to \(new), a name that \(entity.name) already has.")
            }
        }
    }

    var isEmpty: Bool { renamed.isEmpty && dropped.isEmpty }

    /// Returns the names of a stored entity's relationships that are removed: dropped ones, and inverses of dropped ones.
    func removed(from other: Entity) -> [String] {
        let own = isInHierarchy(other) ? dropped : []
        let inverses = entity.relationships.filter {
            dropped.contains($0.name)
                && ($0.destination == other.name || model.isSubentity(other, of: $0.destination))
        }
        return own.union(inverses.compactMap(\.inverse)).sorted()
    }

    func relationships(of other: Entity) -> [RelationshipDescription] {
        let removed = Set(removed(from: other))
        return other.relationships.filter { !removed.contains($0.name) }.map { relationship in
            let name = isInHierarchy(other) ? renamed[relationship.name] : nil
            let leadsHere = model.entity(named: relationship.destination).map(isInHierarchy) ?? false
            let inverse = relationship.inverse.map { leadsHere ? renamed[$0] ?? $0 : $0 }
            if name == nil && inverse == relationship.inverse { return relationship }
            return Self.description(
                relationship, named: name ?? relationship.name, inverse, from: name == nil ? nil : relationship.name)
        }
    }

    /// Returns a stored entity's uniqueness constraints, except those that contain a removed relationship, with the new
    /// names of renamed ones.
    func uniqueLists(of other: Entity) -> [[String]] {
        let removed = removed(from: other)
        return other.uniqueAttributes.filter { Set($0).isDisjoint(with: removed) }.map { names in
            names.map { newName(of: $0, in: other) }
        }
    }

    /// Returns a stored entity's indexes, except those that contain a removed relationship, with the new names of
    /// renamed ones.
    func indexes(of other: Entity) -> [Index] {
        let removed = Set(removed(from: other))
        return other.indexes.filter { !$0.keys.contains { removed.contains($0.attribute) } }.map { index in
            Index(
                keys: index.keys.map {
                    Index.Key(newName(of: $0.attribute, in: other), isDescending: $0.isDescending)
                })
        }
    }

    private func newName(of name: String, in other: Entity) -> String {
        (isInHierarchy(other) ? renamed[name] : nil) ?? name
    }

    /// Whether an entity is the changed entity or one of its subentities.
    private func isInHierarchy(_ other: Entity) -> Bool {
        other.name == entity.name || model.isSubentity(other, of: entity.name)
    }

    private static func description(
        _ old: RelationshipDescription, named name: String, _ inverse: String?, from former: String?
    ) -> RelationshipDescription {
        old.isToMany
            ? RelationshipDescription(
                name, toMany: old.destination, inverse: inverse ?? "", ordered: old.isOrdered,
                deleteRule: old.deleteRule, minCount: old.minCount, maxCount: old.maxCount, renamedFrom: former)
            : RelationshipDescription(
                name, toOne: old.destination, inverse: inverse, isOptional: old.isOptional, deleteRule: old.deleteRule,
                renamedFrom: former)
    }
}
