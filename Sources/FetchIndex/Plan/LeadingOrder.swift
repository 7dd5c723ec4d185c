internal import OrderCaches
internal import Predicates
internal import Records

/// A kept order whose row keys begin with an attribute, so that a range of the attribute is a range of rows.
struct LeadingOrder {
    let name: String
    let order: SectionedOrder
    let slot: Int
    let isDescending: Bool
    /// What holds for all of its rows.
    let known: [PredicateSyntax]

    /// Nil when its row keys begin otherwise, or were made with other versions of ICU's data.
    private init?(_ kept: KeptOrder, entity number: Int, _ model: Model) {
        guard let definition = try? OrderDefinition(kept.identity),
            let leading = Self.leadingKey(of: definition, model.entities[number]),
            kept.identity.collation.isEmpty || (try? definition.compile(in: model))?.identity == kept.identity
        else { return nil }
        name = kept.name
        order = kept.order
        (slot, isDescending) = leading
        known = definition.predicate?.syntax.conjuncts ?? []
    }

    /// The attribute is the section's, or the first sort key's.
    private static func leadingKey(of definition: OrderDefinition, _ entity: Entity) -> (Int, Bool)? {
        if let section = definition.sectionKey {
            guard case .attribute(let name) = section else { return nil }
            return entity.slot(of: name).map { ($0, false) }
        }
        guard let key = definition.sortKeys.first, key.textOrder == .binary else { return nil }
        return entity.slot(of: key.attribute).map { ($0, key.direction == .descending) }
    }

    /// Those of an entity that are of a reader's state. O(caches).
    static func all(of entity: Int, in reader: StoreReader) throws -> [LeadingOrder] {
        try CacheDirectory.keptOrders(of: entity, in: reader).compactMap {
            LeadingOrder($0, entity: entity, reader.model)
        }
    }
}
