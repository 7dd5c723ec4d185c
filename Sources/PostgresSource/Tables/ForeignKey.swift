internal import FetchIndexModels
internal import FetchIndexRecords
internal import FetchIndexValues

/// A foreign key of a followed table to the key of another one: the objects are related.
struct ForeignKey {
    let name: String
    /// The slot of the attribute that has the other object's key.
    private let slot: Int
    private let type: ValueType
    /// The slot that refers to the object.
    let reference: Int
    /// The other entity.
    let destination: Int
    let constraint: UniqueConstraint

    /// Nil where the relationship was removed from the store's model.
    init?(_ stored: FollowedSource.Reference, of entity: Entity, to table: FollowedSource.Table, in model: Model) throws
    {
        guard let slot = entity.slot(of: stored.column),
            case .reference(let reference, _)? = entity.relationship(named: stored.relationship)?.storage
        else { return nil }
        let destination = try model.number(of: table.entity)
        let other = model.entities[destination]
        guard let constraint = other.uniqueConstraint(ofSlot: try other.requireSlot(of: table.key)) else { return nil }
        (name, self.slot, type) = (stored.relationship, slot, entity.type(at: slot))
        (self.reference, self.destination, self.constraint) = (reference, destination, constraint)
    }

    /// The key of the object that a record's refers to.
    func value(in record: RawSpan, of entity: Entity) throws -> Value {
        try RecordView(record, of: entity).value(at: slot, as: type)
    }
}

extension FollowedSource {
    /// The foreign keys of a table.
    func foreignKeys(of table: Table, in model: Model) throws -> [ForeignKey] {
        let entity = model.entities[try model.number(of: table.entity)]
        return try table.references.compactMap { reference in
            guard let other = tables.first(where: { $0.entity == reference.entity }) else { return nil }
            return try ForeignKey(reference, of: entity, to: other, in: model)
        }
    }

    /// The tables that others refer to first.
    var copyOrder: [Int] {
        var order: [Int] = []
        var open: Set<Int> = []
        func visit(_ index: Int) {
            // Of tables that refer to each other, one comes first.
            guard !order.contains(index), open.insert(index).inserted else { return }
            for reference in tables[index].references {
                if let other = tables.firstIndex(where: { $0.entity == reference.entity }) { visit(other) }
            }
            order.append(index)
        }
        for index in tables.indices { visit(index) }
        return order
    }
}
