internal import FetchIndexModels
internal import FetchIndexRecords

/// A column of a file, of which each field names objects that are related to its row's.
package final class RelatedColumn {
    package enum Kind {
        /// One object.
        case one
        /// Any number of objects of a many-to-many relationship.
        case list
    }

    package let relationship: String
    package let kind: Kind
    /// Of the attribute whose values name objects; nil where fields have their numbers.
    package let keyType: ValueType?
    /// How many objects were inserted because none had a value.
    package private(set) var insertedCount = 0

    /// Of the rows' records, or of the links of a many-to-many relationship: those to the rows' objects.
    let reference: EntityLinks.Reference
    /// Of a list: the entity of the links, and the references to the other objects.
    let join: (entity: Int, far: EntityLinks.Reference)?
    /// Whether rows' objects have positions among those of a related one.
    let isOrdered: Bool
    /// Whether related objects have positions among those of a row's object.
    let isOrderedHere: Bool
    /// The entity that the column names; objects may be of its subentities.
    package let destination: Int
    let key: (attribute: String, constraint: UniqueConstraint)?
    private let insertsMissing: Bool
    private let hint: String
    private var known: [Value: RecordKey] = [:]
    private static let mostKnown = 1 << 18

    /// Nil when the entity has no relationship of the name. `key` is the unique attribute of an entity whose values name objects;
    /// `hint` ends the sentence about one that is missing.
    package init?(
        _ name: String, of number: Int, by key: (entity: String, attribute: String)? = nil,
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
        switch stored.storage {
        case .reference(let slot, _):
            guard let reference = entity.links?.reference(at: slot) else { return nil }
            (kind, self.reference, join) = (.one, reference, nil)
        case .join(let join, let side):
            guard let references = model.entities[join].links?.references, key == nil,
                let near = references.first(where: { $0.slot == side }),
                let far = references.first(where: { $0.slot != side })
            else {
                throw RequestError.wrongType("\(entity.name).\(name) leads to many objects, which no key names")
            }
            (kind, reference, self.join) = (.list, near, (join, far))
        case .inverse:
            throw RequestError.wrongType(
                "\(entity.name).\(name) is the other side of \(description.destination).\(description.inverse ?? ""): "
                    + "the rows of that entity have it")
        }
        guard let key else {
            (keyType, self.key) = (nil, nil)
            return
        }
        let related = model.entities[destination]
        guard try model.hierarchy(of: model.number(of: description.destination)).contains(destination) else {
            throw RequestError.wrongType(
                "\(entity.name).\(name) leads to \(description.destination), not to \(related.name)")
        }
        let slot = try related.requireSlot(of: key.attribute)
        guard let constraint = related.uniqueConstraint(ofSlot: slot) else {
            throw RequestError.wrongType("\(related.name).\(key.attribute) is not unique, so it cannot name objects")
        }
        keyType = related.type(at: slot)
        self.key = (related.attribute(at: slot).name, constraint)
    }

    /// Whether each field names one object by a unique attribute, several rows may name the same object, its list has no order, and rows
    /// don't name each other.
    var isPlain: Bool { kind == .one && key != nil && !isOrdered && !reference.isUnique && !mayNameRows }
    private let mayNameRows: Bool
    /// The slots of the reference.
    var slots: Set<Int> { [reference.slot, reference.position] }

    /// Forgets which objects have which values: others may have deleted them since.
    func forget() { known = [:] }

    /// The same, and objects that were inserted since are not there any more.
    func forget(insertedCount count: Int) {
        forget()
        insertedCount = count
    }

    /// The object that a value names; nil for null, and when no object has the value. O(log n).
    func stored(_ value: Value, in writer: StoreWriter) throws -> RecordKey? {
        guard let key, !value.isNull else { return nil }
        return try writer.object(destination, key.constraint, equalTo: [value])
    }

    /// The object that a value names, inserted where it is missing and wanted; nil for null, and for an empty text that names none. Throws `invalidValue` when there is none.
    func object(named value: Value, for entity: Entity, in writer: StoreWriter) throws -> RecordKey? {
        guard let key, !value.isNull else { return nil }
        if let object = known[value] { return object }
        if known.count >= Self.mostKnown { forget() }
        var object = try stored(value, in: writer)
        let related = writer.model.entities[destination]
        if object == nil {
            if value == .string("") { return nil }
            guard insertsMissing else {
                throw StoreError.invalidValue(
                    entity: entity.name, attribute: relationship,
                    "names the \(related.name) whose \(key.attribute) is \"\(value)\", which is not in the store"
                        + hint)
            }
            let values = related.attributes.map { $0.name == key.attribute ? value : $0.defaultValue }
            guard !related.isAbstract else {
                throw StoreError.invalidValue(
                    entity: entity.name, attribute: relationship,
                    "names no \(related.name), and none is inserted, since that entity is abstract")
            }
            let record = try related.record(values)
            object = try writer.insert(destination, record.span.bytes)
            insertedCount += 1
        }
        known[value] = object
        return object
    }
}
