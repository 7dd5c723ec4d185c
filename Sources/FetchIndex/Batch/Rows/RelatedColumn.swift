internal import FetchIndexModels
internal import FetchIndexRecords

/// A column whose fields name objects that are related to the row's object. It's a foreign key, which is an attribute
/// too, or a column of a file that isn't an attribute.
package final class RelatedColumn {
    package enum Kind {
        /// One object.
        case one
        /// Any number of objects of a many-to-many relationship.
        case list
    }

    package let relationship: String
    package let kind: Kind
    /// The type of the attribute whose values name objects; nil if fields contain object numbers.
    package let keyType: ValueType?
    /// The number of related objects that were inserted because they were missing.
    package private(set) var insertedCount = 0

    /// For a to-one relationship, the reference from a row's record to the related object. For a many-to-many
    /// relationship, the reference from a join record to the row's object.
    let reference: EntityLinks.Reference
    /// For a many-to-many relationship, the join entity and the reference from a join record to the related object.
    let join: (entity: Int, far: EntityLinks.Reference)?
    /// Whether the inverse relationship is ordered.
    let isOrdered: Bool
    /// Whether the column's own relationship is ordered.
    let isOrderedHere: Bool
    /// The entity of the related objects, which may also be of its subentities.
    package let destination: Int
    /// The attributes whose values name related objects, and their constraint.
    let key: (attributes: String, constraint: UniqueConstraint)?
    /// The attributes of the foreign key, if the column is one, in the order of the constraint's attributes.
    private let attributes: [(slot: Int, type: ValueType)]
    private let insertsMissing: Bool
    private let hint: String
    private var known: [Value: RecordKey] = [:]
    private static let mostKnown = 1 << 18

    /// Returns nil if the entity has no relationship of the name. `key` is the related entity and the attributes whose
    /// unique values name related objects; if nil, fields contain object numbers. `foreignKey` has the slots of the
    /// attributes that contain the values, in the same order; if it's empty, rows have the value of a single attribute
    /// beside their records. `hint` ends the message about a missing object.
    package init?(
        _ name: String, of number: Int, by key: (entity: String, attributes: [String])? = nil, foreignKey: [Int] = [],
        insertsMissing: Bool = false, hint: String = "", in model: Model
    ) throws {
        let entity = model.entities[number]
        guard let stored = entity.relationship(named: name) else { return nil }
        let description = stored.description
        relationship = description.name
        (self.insertsMissing, self.hint) = (insertsMissing, hint)
        destination = try model.number(of: key?.entity ?? description.destination)
        mayNameRows = model.hierarchy(of: destination).contains(number)
        isOrderedHere = description.isOrdered
        isOrdered =
            model.entity(named: description.destination)?.relationship(named: description.inverse)?.description
            .isOrdered ?? false
        guard let links = try Self.links(of: stored, of: entity, isKeyed: key != nil, in: model) else { return nil }
        (kind, reference, join) = (links.join == nil ? .one : .list, links.reference, links.join)
        guard let key else {
            (keyType, self.key, attributes) = (nil, nil, [])
            return
        }
        let related = model.entities[destination]
        guard try model.hierarchy(of: model.number(of: description.destination)).contains(destination) else {
            throw RequestError.wrongType(
                "\(entity.name).\(name) leads to \(description.destination), not to \(related.name)")
        }
        let slots = try key.attributes.map { try related.requireSlot(of: $0) }
        guard let constraint = related.uniqueConstraint(ofSlots: slots) else {
            let names = key.attributes.joined(separator: ", ")
            throw RequestError.wrongType("\(related.name).\(names) is not unique, so it cannot name objects")
        }
        keyType = related.type(at: slots[0])
        self.key = (related.name(of: constraint), constraint)
        attributes = constraint.slots.compactMap { slot in
            guard let place = slots.firstIndex(of: slot), place < foreignKey.count else { return nil }
            return (foreignKey[place], entity.type(at: foreignKey[place]))
        }
    }

    /// The references that store a relationship. Returns nil if the entity has no reference for it. Throws `RequestError` if
    /// the other side stores it, and if a key is to name many objects.
    private static func links(
        of relationship: StoredRelationship, of entity: Entity, isKeyed: Bool, in model: Model
    ) throws -> (reference: EntityLinks.Reference, join: (entity: Int, far: EntityLinks.Reference)?)? {
        let description = relationship.description
        let title = "\(entity.name).\(description.name)"
        switch relationship.storage {
        case .reference(let slot, _): return entity.links?.reference(at: slot).map { ($0, nil) }
        case .join(let join, let side):
            guard let references = model.entities[join].links?.references, !isKeyed,
                let near = references.first(where: { $0.slot == side }),
                let far = references.first(where: { $0.slot != side })
            else { throw RequestError.wrongType("\(title) leads to many objects, so a key cannot name them") }
            return (near, (join, far))
        case .inverse:
            throw RequestError.wrongType(
                "\(title) is the other side of \(description.destination).\(description.inverse ?? ""): "
                    + "use that relationship instead")
        }
    }

    /// Whether each field names one object by a unique attribute, several rows may name the same object, the inverse
    /// relationship isn't ordered, and rows can't name other rows.
    var isPlain: Bool { kind == .one && key != nil && !isOrdered && !reference.isUnique && !mayNameRows }
    private let mayNameRows: Bool
    /// Whether the relationship is its own inverse.
    var isMutual: Bool { reference.isSymmetric || join?.far.isSymmetric ?? false }
    /// For a to-one relationship, the two slots of the reference: one has the related object's key, the other one the
    /// position of the row's object among the objects of the inverse relationship.
    var slots: Set<Int> { [reference.slot, reference.position] }

    /// Forgets the objects that were found by their values. Must be called between transactions, because another writer
    /// may delete such an object.
    func forget() { known = [:] }

    /// Forgets the objects that were found by their values, and restores the number of inserted objects after a
    /// rollback.
    func forget(insertedCount count: Int) {
        forget()
        insertedCount = count
    }

    /// Whether the column is a foreign key in the rows' records.
    var isForeignKey: Bool { !attributes.isEmpty }

    /// The values of the foreign key in a record; nil if one of them is null, so that the record names no object.
    func foreignKey(in record: RawSpan, of entity: Entity) throws -> [Value]? {
        let view = try RecordView(record, of: entity)
        var values: [Value] = []
        for attribute in attributes {
            let value = try view.value(at: attribute.slot, as: attribute.type)
            if value.isNull { return nil }
            values.append(value)
        }
        return values
    }

    /// Finds the object that values name, in the order of the key's constraint. Returns nil if no object has them.
    /// O(log n).
    func stored(_ values: [Value], in writer: StoreWriter) throws -> RecordKey? {
        try key.flatMap { try writer.object(destination, $0.constraint, equalTo: values) }
    }

    /// Finds the object that a value names, or inserts it if the column allows that. Returns nil for null, and for an
    /// empty string if no object has it. Throws `invalidValue` if the object is missing and can't be inserted.
    func object(named value: Value, for entity: Entity, in writer: StoreWriter) throws -> RecordKey? {
        guard let key, !value.isNull else { return nil }
        if let object = known[value] { return object }
        if known.count >= Self.mostKnown { forget() }
        var object = try stored([value], in: writer)
        let related = writer.model.entities[destination]
        if object == nil {
            if value == .string("") { return nil }
            guard insertsMissing else {
                throw StoreError.invalidValue(
                    entity: entity.name, attribute: relationship,
                    "names the \(related.name) whose \(key.attributes) is \"\(value)\", which is not in the store"
                        + hint)
            }
            let values = related.attributes.map { $0.name == key.attributes ? value : $0.defaultValue }
            guard !related.isAbstract else {
                throw StoreError.invalidValue(
                    entity: entity.name, attribute: relationship,
                    "names a \(related.name) that is not in the store and cannot be inserted, because that entity is abstract"
                )
            }
            let record = try related.record(values)
            object = try writer.insert(destination, record.span.bytes)
            insertedCount += 1
        }
        known[value] = object
        return object
    }
}
