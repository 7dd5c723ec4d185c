package import FetchIndexModels
internal import FetchIndexRecords
internal import FetchIndexValues

/// An entity whose rows are found by a unique attribute, their key. Rows may name rows of other keyed tables by foreign
/// keys.
package struct KeyedTable {
    /// An attribute that contains the key of a related object.
    package struct Reference {
        package let attribute: String
        package let relationship: String
        /// The related entity, and its unique attribute.
        package let entity: String
        package let key: String

        package init(attribute: String, relationship: String, entity: String, key: String) {
            (self.attribute, self.relationship, self.entity, self.key) = (attribute, relationship, entity, key)
        }
    }

    struct ForeignKey {
        /// The slot of the attribute that contains the related object's key.
        let slot: Int
        let type: ValueType
        /// The relationship whose reference in a record is the related object.
        let column: RelatedColumn

        /// The key of the object that a record refers to.
        func value(in record: RawSpan, of entity: Entity) throws -> Value {
            try RecordView(record, of: entity).value(at: slot, as: type)
        }
    }

    package let entityNumber: Int
    package let entity: Entity
    let constraint: UniqueConstraint
    let foreignKeys: [ForeignKey]

    /// Returns nil if the attribute isn't unique. A reference whose relationship was removed from the model is left
    /// out. Throws `StoreError` for an unknown entity or attribute.
    package init?(_ name: String, key: String, references: [Reference] = [], in model: Model) throws {
        let number = try model.number(of: name)
        let entity = model.entities[number]
        guard let constraint = entity.uniqueConstraint(ofSlot: try entity.requireSlot(of: key)) else { return nil }
        (entityNumber, self.entity, self.constraint) = (number, entity, constraint)
        foreignKeys = try references.compactMap { reference in
            guard let slot = entity.slot(of: reference.attribute),
                case .reference? = entity.relationship(named: reference.relationship)?.storage,
                let column = try RelatedColumn(
                    reference.relationship, of: number, by: (reference.entity, reference.key), in: model)
            else { return nil }
            return ForeignKey(slot: slot, type: entity.type(at: slot), column: column)
        }
    }

    /// Whether a name is the name, or a former name, of the unique attribute.
    package func isKey(_ name: String) -> Bool { entity.slot(of: name) == constraint.slots.first }
}
