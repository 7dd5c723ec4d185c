package import FetchIndexModels
internal import FetchIndexRecords

/// An entity that rows are written to: the unique attribute by which rows find their objects, and the columns that name
/// related objects.
package final class RowTable {
    /// A foreign key: its attribute, the relationship that it sets, the related entity, and that entity's key
    /// attribute.
    package typealias Reference = (attribute: String, relationship: String, entity: String, key: String)

    package let entityNumber: Int
    package let entity: Entity
    /// The key; nil if rows are new objects, or find their objects by object numbers.
    let key: UniqueConstraint?
    let columns: [RelatedColumn]

    init(_ number: Int, _ entity: Entity, key: UniqueConstraint?, _ columns: [RelatedColumn]) {
        (entityNumber, self.entity, self.key, self.columns) = (number, entity, key, columns)
    }

    /// Makes a table whose rows have foreign keys. Returns nil if the key isn't unique. Leaves out a reference if the
    /// model lacks its attribute or relationship, or if the entity's records have no reference for the relationship.
    /// Throws `ModelError` for an unknown entity or key, and `RequestError` if a reference's key isn't unique or the
    /// relationship doesn't lead to the reference's entity.
    package convenience init?(_ name: String, key: String, references: [Reference] = [], in model: Model) throws {
        let number = try model.number(of: name)
        let entity = model.entities[number]
        guard let constraint = entity.uniqueConstraint(ofSlot: try entity.requireSlot(of: key)) else { return nil }
        let columns: [RelatedColumn] = try references.compactMap { reference in
            guard let slot = entity.slot(of: reference.attribute),
                case .reference? = entity.relationship(named: reference.relationship)?.storage
            else { return nil }
            return try RelatedColumn(
                reference.relationship, of: number, by: (reference.entity, reference.key), foreignKey: slot, in: model)
        }
        self.init(number, entity, key: constraint, columns)
    }

    /// Whether a name is the current name or a former name of the key attribute.
    package func isKey(_ name: String) -> Bool { entity.slot(of: name) == key?.slots.first }

    /// The slots of the references that the columns set.
    var referenceSlots: [Int] { columns.filter { $0.kind == .one }.map(\.reference.slot) }
}
