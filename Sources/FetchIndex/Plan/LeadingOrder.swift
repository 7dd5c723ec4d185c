internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexPredicates
internal import FetchIndexRecords

/// A fresh cache whose row keys begin with the values of attributes. A range of the first attribute is a range of
/// rows. A range of a later attribute is a range of rows if each attribute before it is limited to one value.
final class LeadingOrder {
    let name: String
    private let kept: FreshCache
    private var opened: SectionedOrder?
    /// The attributes, or references, with which row keys begin; at least one.
    let keys: [IndexKey]
    /// Whether rows are sorted by nothing else than `keys` and, among equal ones, object numbers.
    let hasAllKeys: Bool
    private let identity: CacheIdentity
    private let model: Model

    /// Returns nil if the row keys don't begin with an attribute or a reference. The cache's predicate is parsed only
    /// when it's needed.
    private init?(_ kept: FreshCache, entity number: Int, _ model: Model) {
        (keys, hasAllKeys) = Self.leadingKeys(of: kept.identity, model, model.entities[number])
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

    /// The parts of the cache's predicate, which hold for all its rows; nil if the predicate can't be read, or if data
    /// that placed the rows have changed, such as ICU's.
    private(set) lazy var known: [PredicateSyntax]? = {
        guard let definition = try? OrderDefinition(identity, in: model) else { return nil }
        if !identity.collation.isEmpty, (try? definition.compile(in: model))?.identity != identity { return nil }
        return definition.predicate?.syntax.conjuncts ?? []
    }()

    /// `known` as a set; empty if it's nil.
    private(set) lazy var knownParts = Set(known ?? [])

    /// Whether the cache was built with the given predicate, so that all its rows match it.
    func isOf(_ predicate: FetchPredicate) -> Bool {
        if identity.predicate.isEmpty { return false }
        if let number = model.number(ofPermanent: identity.entity), model.entities[number].hasRenames {
            return (try? OrderDefinition(identity, in: model))?.predicate == predicate
        }
        return identity.predicate.utf8.elementsEqual(predicate.description.utf8)
    }

    /// The section's attribute, then the sort keys before the first one that has another text order than `binary`,
    /// reads related objects or repeats an attribute; and whether these are all sort keys. Empty if there is a section
    /// key that isn't an attribute of the entity.
    private static func leadingKeys(
        of identity: CacheIdentity, _ model: Model, _ entity: Entity
    ) -> (keys: [IndexKey], areAll: Bool) {
        var shape = identity
        shape.predicate = ""
        guard let definition = try? OrderDefinition(shape, in: model) else { return ([], false) }
        var keys: [IndexKey] = []
        if let section = definition.sectionKey {
            guard case .attribute(let name) = section, let slot = entity.slot(of: name) else { return ([], false) }
            keys.append(IndexKey(slot: slot, isDescending: false))
        }
        for key in definition.sortKeys {
            guard key.textOrder == .binary, let slot = slot(of: key.attribute, entity),
                !keys.contains(where: { $0.slot == slot })
            else { break }
            keys.append(IndexKey(slot: slot, isDescending: key.direction == .descending))
        }
        return (keys, keys.count == definition.sortKeys.count + (definition.sectionKey == nil ? 0 : 1))
    }

    /// The slot of the attribute in a sort key, or of a to-one relationship whose object's key is sorted; nil for other
    /// sort keys.
    private static func slot(of key: String, _ entity: Entity) -> Int? {
        if let slot = entity.slot(of: key) { return slot }
        let names = key.pathNames
        return names.count == 2 && names[1] == RelatedPath.keyName ? entity.keySlot(of: names[0]) : nil
    }

    /// The fresh caches, in a reader's state, that have leading keys and the rows of exactly the given entities: the
    /// entity with its subentities, or the entity alone. O(caches x log n).
    static func all(of entity: Int, among entities: [Int], in reader: StoreReader) throws -> [LeadingOrder] {
        try CacheDirectory.freshCaches(of: entity, in: reader).compactMap { cache in
            cache.entities == entities ? LeadingOrder(cache, entity: entity, reader.model) : nil
        }
    }
}
