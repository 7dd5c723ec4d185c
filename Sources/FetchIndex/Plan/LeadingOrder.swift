internal import Models
internal import OrderCaches
internal import Predicates
internal import Records

/// A current cache whose row keys begin with an attribute, so a range of the attribute is a range of rows.
final class LeadingOrder {
    let name: String
    private let kept: FreshCache
    private var opened: SectionedOrder?
    let slot: Int
    let isDescending: Bool
    private let identity: CacheIdentity
    private let model: Model

    /// Nil when its row keys do not begin with an attribute. The predicate is parsed on demand.
    private init?(_ kept: FreshCache, entity number: Int, _ model: Model) {
        guard let leading = Self.leadingKey(of: kept.identity, model, model.entities[number]) else { return nil }
        name = kept.name
        self.kept = kept
        (slot, isDescending) = leading
        identity = kept.identity
        self.model = model
    }

    /// Opened on demand.
    func order() throws -> SectionedOrder {
        if let opened { return opened }
        let order = try kept.order()
        opened = order
        return order
    }

    /// The parts of its predicate, which hold for all of its rows; nil when they are unknown, or ICU's data had another version.
    /// O(length of the predicate), once.
    private(set) lazy var known: [PredicateSyntax]? = {
        guard let definition = try? OrderDefinition(identity, in: model) else { return nil }
        if !identity.collation.isEmpty, (try? definition.compile(in: model))?.identity != identity { return nil }
        return definition.predicate?.syntax.conjuncts ?? []
    }()

    /// Whether its rows are exactly those of a predicate.
    func isOf(_ predicate: FetchPredicate) -> Bool {
        if identity.predicate.isEmpty { return false }
        if let entity = model.entity(named: identity.entity), entity.hasRenames {
            return (try? OrderDefinition(identity, in: model))?.predicate == predicate
        }
        return identity.predicate.utf8.elementsEqual(predicate.description.utf8)
    }

    /// The attribute is the section's, or the first sort key's.
    private static func leadingKey(of identity: CacheIdentity, _ model: Model, _ entity: Entity) -> (Int, Bool)? {
        var shape = identity
        shape.predicate = ""
        guard let definition = try? OrderDefinition(shape, in: model) else { return nil }
        if let section = definition.sectionKey {
            guard case .attribute(let name) = section else { return nil }
            return entity.slot(of: name).map { ($0, false) }
        }
        guard let key = definition.sortKeys.first, key.textOrder == .binary else { return nil }
        return entity.slot(of: key.attribute).map { ($0, key.direction == .descending) }
    }

    /// The leading orders of an entity in a reader's state. O(caches).
    static func all(of entity: Int, in reader: StoreReader) throws -> [LeadingOrder] {
        try CacheDirectory.freshCaches(of: entity, in: reader).compactMap {
            LeadingOrder($0, entity: entity, reader.model)
        }
    }
}
