internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexPredicates
internal import FetchIndexRecords

/// A current cache whose row keys begin with attributes, so a range of the first one is a range of rows; so is a range
/// of a later one, if the attributes before it have one value.
final class LeadingOrder {
    let name: String
    private let kept: FreshCache
    private var opened: SectionedOrder?
    /// The attributes that row keys begin with; never empty.
    let keys: [IndexKey]
    private let identity: CacheIdentity
    private let model: Model

    /// Nil if its row keys don't begin with an attribute. The predicate is parsed on demand.
    private init?(_ kept: FreshCache, entity number: Int, _ model: Model) {
        keys = Self.leadingKeys(of: kept.identity, model, model.entities[number])
        if keys.isEmpty { return nil }
        name = kept.name
        self.kept = kept
        identity = kept.identity
        self.model = model
    }

    /// The cache's order, opened on demand.
    func order() throws -> SectionedOrder {
        if let opened { return opened }
        let order = try kept.order()
        opened = order
        return order
    }

    /// The parts of the cache's predicate, which hold for all of its rows; nil if they are unknown or were built with
    /// another version of ICU's data. O(length of the predicate), once.
    private(set) lazy var known: [PredicateSyntax]? = {
        guard let definition = try? OrderDefinition(identity, in: model) else { return nil }
        if !identity.collation.isEmpty, (try? definition.compile(in: model))?.identity != identity { return nil }
        return definition.predicate?.syntax.conjuncts ?? []
    }()

    /// The known parts as a set; empty if they are unknown.
    private(set) lazy var knownParts = Set(known ?? [])

    /// Whether the cache's rows are exactly those of a predicate.
    func isOf(_ predicate: FetchPredicate) -> Bool {
        if identity.predicate.isEmpty { return false }
        if let entity = model.entity(named: identity.entity), entity.hasRenames {
            return (try? OrderDefinition(identity, in: model))?.predicate == predicate
        }
        return identity.predicate.utf8.elementsEqual(predicate.description.utf8)
    }

    /// The section's attribute, then the sort keys, up to the first one whose bytes aren't an OrderKey.
    private static func leadingKeys(of identity: CacheIdentity, _ model: Model, _ entity: Entity) -> [IndexKey] {
        var shape = identity
        shape.predicate = ""
        guard let definition = try? OrderDefinition(shape, in: model) else { return [] }
        var keys: [IndexKey] = []
        if let section = definition.sectionKey {
            guard case .attribute(let name) = section, let slot = entity.slot(of: name) else { return [] }
            keys.append(IndexKey(slot: slot, isDescending: false))
        }
        for key in definition.sortKeys {
            guard key.textOrder == .binary, let slot = slot(of: key.attribute, entity),
                !keys.contains(where: { $0.slot == slot })
            else { break }
            keys.append(IndexKey(slot: slot, isDescending: key.direction == .descending))
        }
        return keys
    }

    /// The slot of an attribute, or of a reference if the sort key is the key of its object.
    private static func slot(of key: String, _ entity: Entity) -> Int? {
        if let slot = entity.slot(of: key) { return slot }
        let names = key.pathNames
        return names.count == 2 && names[1] == RelatedPath.keyName ? entity.keySlot(of: names[0]) : nil
    }

    /// The fresh leading orders of an entity in a reader's state, for exactly the given entities: the entity and its
    /// subentities, or the entity alone. O(caches).
    static func all(of entity: Int, among entities: [Int], in reader: StoreReader) throws -> [LeadingOrder] {
        try CacheDirectory.freshCaches(of: entity, in: reader).compactMap { cache in
            cache.entities == entities ? LeadingOrder(cache, entity: entity, reader.model) : nil
        }
    }
}
