internal import FetchIndexPlatform
internal import FetchIndexValues

extension Entity {
    /// Whether objects that were read with this entity can be used with a newer version of it: none of this entity's
    /// attributes and relationships was removed, its attributes have the same types and optionality, added attributes
    /// are optional or have default values, and no migration pass has rewritten the records since.
    package func isReadable(with newer: Entity) -> Bool {
        guard newer.slots.count >= slots.count, newer.passes == passes else { return false }
        let isSame = zip(slots, newer.slots).allSatisfy { old, new in
            old.attribute.type == new.attribute.type && old.isRemoved == new.isRemoved
                && (old.isRemoved || old.attribute.isOptional == new.attribute.isOptional)
        }
        let areRelated = zip(storedRelationships, newer.storedRelationships).allSatisfy { $0.isRemoved == $1.isRemoved }
        guard areRelated, newer.storedRelationships.count >= storedRelationships.count else { return false }
        // If an added attribute is required and has no default value, new objects of this entity would lack its value.
        return isSame
            && newer.slots[slots.count...].allSatisfy {
                $0.isRemoved || $0.attribute.isOptional || !$0.attribute.defaultValue.isNull
            }
    }

    /// Whether two entities have equal attributes and unique constraints, so that attribute values that are valid for
    /// one are valid for the other.
    package func hasSameRules(as other: Entity) -> Bool {
        Set(attributes) == Set(other.attributes) && uniqueConstraints == other.uniqueConstraints
    }

    /// Throws `ModelError.mismatch` unless this stored entity has all attributes and relationships that a program
    /// declares, with the same types and destinations, to-one or to-many as declared, and with values that can't be
    /// null if the program requires them. If the store has followed the same declaration before, each attribute that
    /// isn't derived must also have the slot that it had then.
    package func requireAttributes(of declared: Entity) throws {
        let checksum = declared.declaration
        let known = declarations.first { $0.checksum == checksum }
        for (index, attribute) in declared.attributes.sorted(by: { $0.name < $1.name }).enumerated() {
            func mismatch(_ reason: String) -> ModelError {
                .mismatch(entity: name, "its attribute \(attribute.name) " + reason)
            }
            guard let slot = slot(of: attribute.name) else { throw mismatch("was removed by a newer model") }
            let stored = self.attribute(at: slot)
            if stored.type != attribute.type {
                throw mismatch("is \(stored.type.name) in a newer model, and \(attribute.type.name) in this one")
            }
            // A derived attribute gets another slot when it's recomputed.
            if let known, known.slots[index] != slot, stored.derivation == nil {
                throw mismatch("was replaced by another attribute of the same name in a newer model")
            }
            if stored.isOptional && !attribute.isOptional {
                throw mismatch("may be null in a newer model, but not in this one")
            }
        }
        for relationship in declared.relationships {
            func mismatch(_ reason: String) -> ModelError {
                .mismatch(entity: name, "its relationship \(relationship.name) " + reason)
            }
            guard let stored = self.relationship(named: relationship.name)?.description else {
                throw mismatch("was removed by a newer model")
            }
            guard stored.destination == relationship.destination, stored.isToMany == relationship.isToMany else {
                throw mismatch("was replaced by another relationship of the same name in a newer model")
            }
            if stored.isOptional && !relationship.isOptional {
                throw mismatch("may be nil in a newer model, but not in this one")
            }
        }
    }

    /// A checksum of the declaration, independent of the order of its parts.
    package var declaration: UInt32 {
        var bytes: [UInt8] = []
        bytes.appendText(name)
        for attribute in attributes.sorted(by: { $0.name < $1.name }) { bytes.appendAttribute(attribute) }
        for list in uniqueAttributes.map({ $0.sorted().joined(separator: "\0") }).sorted() { bytes.appendText(list) }
        for attribute in attributes.sorted(by: { $0.name < $1.name }) {
            if let derivation = attribute.derivation { bytes.appendText("\(attribute.name) = \(derivation)") }
        }
        for name in removedAttributes.sorted() { bytes.appendText("-" + name) }
        for index in indexes.map(\.description).sorted() { bytes.appendText("index " + index) }
        for index in removedIndexes.map(\.description).sorted() { bytes.appendText("-index " + index) }
        for relationship in relationships.sorted(by: { $0.name < $1.name }) { bytes.appendRelationship(relationship) }
        if let superentity { bytes.appendText("of " + superentity) }
        if isAbstract { bytes.appendText("abstract") }
        return bytes.span.bytes.checksum
    }
}

/// Two entities are equal if their names, superentities, abstractness, attributes, relationships, unique attributes and
/// indexes are equal, in whatever order.
extension Entity: Hashable {
    public static func == (left: Entity, right: Entity) -> Bool {
        left.name == right.name && Set(left.attributes) == Set(right.attributes)
            && Set(left.uniqueAttributes.map(Set.init)) == Set(right.uniqueAttributes.map(Set.init))
            && Set(left.indexes) == Set(right.indexes) && left.superentity == right.superentity
            && left.isAbstract == right.isAbstract && Set(left.relationships) == Set(right.relationships)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
    }
}
