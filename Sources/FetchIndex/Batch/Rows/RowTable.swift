package import FetchIndexModels
internal import FetchIndexRecords
package import FetchIndexValues

/// An entity that rows are written to: the unique attributes by which rows find their objects, and the columns that name
/// related objects.
package final class RowTable {
    /// A foreign key: its attributes, the relationship that it sets, the related entity, and that entity's key
    /// attributes, in the order of the foreign key's.
    package typealias Reference = (attributes: [String], relationship: String, entity: String, key: [String])

    /// The objects of an entity that belong to a table: those that have a value in an attribute. Each of several sources
    /// fills a part of the entity.
    struct Part {
        let slot: Int
        let type: ValueType
        let value: Value
        /// The values of the other parts that are filled. An object with a further value belongs to no part, so a row with
        /// its key takes it over.
        let others: [Value]
        /// Whether the attribute is in the key, so that no object of another part has a key of this one.
        let isInKey: Bool

        /// Whether a record of the entity belongs to the part.
        func contains(_ record: RawSpan, of entity: Entity) throws -> Bool {
            try value(of: record, entity) == value
        }

        /// The value of the other part to which a record belongs; nil if it belongs to this one or to none.
        func other(of record: RawSpan, _ entity: Entity) throws -> Value? {
            let value = try value(of: record, entity)
            // A conditional expression would take nil for the value null.
            guard value != self.value, others.contains(value) else { return nil }
            return value
        }

        private func value(of record: RawSpan, _ entity: Entity) throws -> Value {
            try RecordView(record, of: entity).value(at: slot, as: type)
        }
    }

    package let entityNumber: Int
    package let entity: Entity
    /// The key; nil if rows are new objects, or find their objects by object numbers.
    let key: UniqueConstraint?
    let columns: [RelatedColumn]
    /// The part of the entity to which the rows belong; nil for the whole entity.
    let part: Part?
    /// Unique constraints, besides the key, by which foreign keys name rows.
    let otherKeys: [UniqueConstraint]

    init(
        _ number: Int, _ entity: Entity, key: UniqueConstraint?, _ columns: [RelatedColumn], part: Part? = nil,
        otherKeys: [UniqueConstraint] = []
    ) {
        (entityNumber, self.entity, self.key, self.columns, self.part) = (number, entity, key, columns, part)
        self.otherKeys = otherKeys
    }

    /// Makes a table whose rows have foreign keys. If `part` isn't nil, the rows have its value in its attribute, and the
    /// objects with its other values aren't theirs. `otherKeys` are attributes by which foreign keys name rows; those that
    /// aren't unique are left out. Returns nil if the key isn't unique. Leaves out a reference if the model lacks one of
    /// its attributes or its relationship, if the entity's records have no reference for it, or if its key isn't unique.
    /// Throws `ModelError` for an unknown entity or key, and `RequestError` if the relationship doesn't lead to the
    /// reference's entity.
    package convenience init?(
        _ name: String, key: [String], references: [Reference] = [],
        part: (attribute: String, value: Value, others: [Value])? = nil,
        otherKeys: [[String]] = [], in model: Model
    ) throws {
        let number = try model.number(of: name)
        let entity = model.entities[number]
        let keySlots = try key.map { try entity.requireSlot(of: $0) }
        guard let constraint = entity.uniqueConstraint(ofSlots: keySlots) else { return nil }
        let columns: [RelatedColumn] = try references.compactMap { reference in
            let slots = reference.attributes.compactMap { entity.slot(of: $0) }
            guard slots.count == reference.attributes.count,
                case .reference? = entity.relationship(named: reference.relationship)?.storage,
                model.entity(named: reference.entity)?.uniqueConstraint(of: reference.key) != nil
            else { return nil }
            return try RelatedColumn(
                reference.relationship, of: number, by: (reference.entity, reference.key), foreignKey: slots, in: model)
        }
        let own = try part.map { part in
            let slot = try entity.requireSlot(of: part.attribute)
            return Part(
                slot: slot, type: entity.type(at: slot), value: part.value, others: part.others,
                isInKey: constraint.slots.contains(slot))
        }
        let others = otherKeys.compactMap { entity.uniqueConstraint(of: $0) }.filter { $0 != constraint }
        self.init(number, entity, key: constraint, columns, part: own, otherKeys: others)
    }

    /// The slots of the key's attributes, in the order in which functions take their values.
    package var keySlots: [Int] { key?.slots ?? [] }

    package var hasForeignKeys: Bool { columns.contains(where: \.isForeignKey) }

    /// The slots of the references that the columns set.
    var referenceSlots: [Int] { columns.filter { $0.kind == .one }.map(\.reference.slot) }
}

extension Entity {
    /// The unique constraint of attributes, which may have their former names; nil if they aren't unique together.
    fileprivate func uniqueConstraint(of names: [String]) -> UniqueConstraint? {
        let slots = names.compactMap { slot(of: $0) }
        return slots.count == names.count ? uniqueConstraint(ofSlots: slots) : nil
    }
}
