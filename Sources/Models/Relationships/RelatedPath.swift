package import FetchIndexValues

/// A key path that leads from an entity's objects through relationships to an attribute, to objects or to the names of
/// their entities. A path without relationships leads to the object itself, or to the name of its entity.
///
/// Each step depends on the entity of the object where it begins: a subentity may have other slots than its
/// superentity.
package struct RelatedPath: Sendable {
    /// The path element for an object's own key.
    package static let keyName = "self"
    /// The path element for the name of an object's entity, unless the entity has an attribute or a relationship with
    /// this name.
    package static let entityName = "entity"

    /// A relationship on the path.
    package struct Step: Sendable {
        package enum Kind: Sendable {
            /// The object's record has the key of the next object.
            case reference
            /// The records of the next objects have the object's key.
            case holders
            /// Many-to-many: the object's join records have the keys of the next objects, in their reference `next`.
            case links(next: EntityLinks.Name)
        }

        package let kind: Kind
        /// The name of the references that the step reads; for `links`, the join records' references to the objects
        /// where the step begins.
        package let name: EntityLinks.Name
        /// The slots of the references, by the entity of the records that have them.
        package let slots: [Int: Int]
        /// The entities of the objects where the step ends.
        package let to: Set<Int>
    }

    /// The slot of the attribute that the path ends with, in the records of one entity.
    package struct End: Sendable {
        package let slot: Int
        /// The values of slots that older records of the entity lack.
        package let missingValues: [UInt8]
    }

    package let steps: [Step]
    /// The entity to which the last relationship leads, or the path's first entity if the path has no relationships.
    /// `steps.last.to` includes its subentities.
    package let destination: Int
    /// The slot of the attribute, by entity; nil if the path ends with objects or with names of entities.
    package let ends: [Int: End]?
    /// The type of the attribute; nil if `ends` is nil.
    package let type: ValueType?
    package let isToMany: Bool
    /// Whether the path ends with `self`, the keys of its last objects.
    package let givesKeys: Bool
    /// Whether the path ends with `entity`, the names of its last objects' entities.
    package let givesEntities: Bool
    /// The number of the given names that belong to the path. Further names apply to the values at its end, such as
    /// `length`.
    package let nameCount: Int
    /// The names of the path and the further names, with the permanent names of relationships and attributes, and
    /// without `self` after a relationship.
    package let permanentNames: [String]
    /// Whether `permanentNames` differ from the given names.
    package let isRenamed: Bool
    /// The slots of other objects' records that affect the path's result, by entity. An entity's set is empty if only
    /// the existence of its records matters.
    package let reads: [Int: Set<Int>]

    /// Like `init`, but cached if the entity has links.
    package static func following(_ names: [String], from entity: Int, in model: Model) throws -> RelatedPath? {
        guard let links = model.entities[entity].links else { return try RelatedPath(names, from: entity, in: model) }
        if let known = links.knownPath(names) { return known }
        let path = try RelatedPath(names, from: entity, in: model)
        if let path { links.note(path, names) }
        return path
    }

    /// Resolves a path. Returns nil if the first name isn't a relationship of the entity, `self` or `entity`. Throws
    /// `unknownAttribute` if the name after the relationships is unknown.
    private init?(_ names: [String], from entity: Int, in model: Model) throws {
        var builder = Builder(entity, model)
        var next = 0
        while next < names.count, try builder.follow(names[next]) { next += 1 }
        let last = next < names.count ? names[next] : nil
        let isAttribute = last.map { model.entities[builder.entity].slot(of: $0) != nil } ?? false
        givesKeys = last == Self.keyName && (next > 0 || !isAttribute)
        givesEntities = last == Self.entityName && !isAttribute
        if next == 0 && !givesKeys && !givesEntities { return nil }
        if givesKeys || givesEntities {
            // After a relationship, `self` is omitted: the path gives the objects' keys without it.
            if next == 0 || givesEntities { builder.permanentNames.append(names[next]) }
            next += 1
        } else if next < names.count {
            next += try builder.end(names[next...])
        }
        steps = builder.steps
        destination = builder.entity
        ends = builder.ends
        type = builder.type
        isToMany = builder.isToMany
        nameCount = next
        permanentNames = builder.permanentNames + names[next...]
        isRenamed = permanentNames.joined(separator: ".") != names.joined(separator: ".")
        reads = builder.reads
    }

    private struct Builder {
        private let model: Model
        /// The declared entity of the objects at the current end of the path. After a relationship, `entities` includes
        /// its subentities.
        private(set) var entity: Int
        private var entities: [Int]
        var steps: [Step] = []
        var ends: [Int: End]?
        var type: ValueType?
        var isToMany = false
        var permanentNames: [String] = []
        var reads: [Int: Set<Int>] = [:]

        init(_ entity: Int, _ model: Model) {
            (self.entity, self.model) = (entity, model)
            // The path begins at objects of this entity alone; subentities resolve their own paths.
            entities = [entity]
        }

        /// Follows a relationship; returns false if the entity has no relationship of that name.
        mutating func follow(_ name: String) throws -> Bool {
            guard let relationship = model.entities[entity].relationship(named: name) else { return false }
            let destination = try model.number(of: relationship.description.destination)
            let next = model.hierarchy(of: destination)
            guard let step = step(relationship, to: Set(next)) else {
                throw model.entities[entity].unknownAttribute(name)
            }
            // A step that begins at an object depends on whether the object exists. A key at the end of the path
            // doesn't, because it's read from the referring record.
            for entity in steps.last?.to ?? [] { reads[entity, default: []].formUnion([]) }
            note(step)
            steps.append(step)
            if case .reference = step.kind {} else { for entity in next { reads[entity, default: []].formUnion([]) } }
            isToMany = isToMany || relationship.description.isToMany
            permanentNames.append(relationship.permanentName)
            (entity, entities) = (destination, next)
            return true
        }

        private func step(_ relationship: StoredRelationship, to next: Set<Int>) -> Step? {
            func slots(_ name: EntityLinks.Name, among entities: some Sequence<Int>) -> [Int: Int] {
                var slots: [Int: Int] = [:]
                for number in entities {
                    slots[number] = model.entities[number].links?.references.first { $0.name == name }?.slot
                }
                return slots
            }
            switch relationship.storage {
            case .reference(let slot, _):
                guard let name = model.entities[entity].links?.reference(at: slot)?.name else { return nil }
                return Step(kind: .reference, name: name, slots: slots(name, among: entities), to: next)
            case .inverse:
                let destination = model.entity(named: relationship.description.destination)
                let inverse = destination?.links?.references.first {
                    $0.relationship == relationship.description.inverse
                }
                guard let name = inverse?.name else { return nil }
                return Step(kind: .holders, name: name, slots: slots(name, among: next), to: next)
            case .join(let join, let side):
                guard let references = model.entities[join].links?.references, references.count == 2,
                    let near = references.first(where: { $0.slot == side }),
                    let far = references.first(where: { $0.slot != side })
                else { return nil }
                return Step(
                    kind: .links(next: far.name), name: near.name, slots: [join: near.slot], to: next)
            }
        }

        /// Adds the slots that a step reads to `reads`. The first reference is omitted, because it's in the row's own
        /// record.
        private mutating func note(_ step: Step) {
            switch step.kind {
            case .reference:
                if steps.isEmpty { return }
                for (entity, slot) in step.slots { reads[entity, default: []].insert(slot) }
            case .holders: for (entity, slot) in step.slots { reads[entity, default: []].insert(slot) }
            case .links(let next): reads[next.entity, default: []].formUnion([step.name.slot, next.slot])
            }
        }

        /// Ends the path with an attribute. Returns the number of path elements in the attribute's name, which may
        /// contain dots.
        mutating func end(_ names: ArraySlice<String>) throws -> Int {
            for count in stride(from: names.count, through: 1, by: -1) {
                let name = names.prefix(count).joined(separator: ".")
                guard let slot = model.entities[entity].slot(of: name) else { continue }
                let attribute = model.entities[entity].attribute(at: slot)
                type = attribute.type
                permanentNames.append(model.entities[entity].slots[slot].permanentName)
                var found: [Int: End] = [:]
                for number in entities {
                    let own = try model.entities[number].requireSlot(of: attribute.name)
                    found[number] = End(slot: own, missingValues: model.entities[number].missingValues)
                    reads[number, default: []].insert(own)
                }
                ends = found
                return count
            }
            throw model.entities[entity].unknownAttribute(names.joined(separator: "."))
        }
    }
}
