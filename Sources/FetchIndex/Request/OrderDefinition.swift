package import Records
package import OrderCaches
internal import Models
/// Everything that shapes the order of a request, and so its cache. Limit and offset do not shape it.
public struct OrderDefinition: Hashable, Sendable {
    public var entity: String
    public var predicate: FetchPredicate?
    public var sortKeys: [SortKey<ManagedObject>]
    /// Nil: one section without a name.
    public var sectionKey: SectionKey?
    public var sectionOrder: SectionOrder

    public init(
        entity: String, predicate: FetchPredicate? = nil, sortKeys: [SortKey<ManagedObject>] = [],
        sectionKey: SectionKey? = nil,
        sectionOrder: SectionOrder = .byFirstRow
    ) {
        self.entity = entity
        self.predicate = predicate
        self.sortKeys = sortKeys
        self.sectionKey = sectionKey
        self.sectionOrder = sectionOrder
    }

    /// The order in a model: how to build it, and its fingerprint. Throws when an attribute is missing or has the wrong type.
    func compile(in model: Model) throws -> OrderRequest {
        let number = try model.number(of: entity)
        return try compile(number, model.entities[number], RecordPlacer(self, model.entities[number]))
    }

    /// As `compile`, with the records among which the members are in a reader's state. O(caches x log n).
    package func plan(in reader: StoreReader) throws -> (request: OrderRequest, source: RecordSource) {
        try plan(in: reader, leadingOrders: nil)
    }

    /// As above, with the leading orders of the reader's state.
    func plan(
        in reader: StoreReader, leadingOrders: [LeadingOrder]?
    ) throws -> (request: OrderRequest, source: RecordSource) {
        let number = try reader.model.number(of: entity)
        let entity = reader.model.entities[number]
        let placer = try RecordPlacer(self, entity)
        let request = try compile(number, entity, placer)
        guard let predicate else { return (request, .all) }
        let planner = try FetchPlanner(predicate, placer.predicate, entity: number, in: reader, leadingOrders)
        return (request, try planner.source())
    }

    private func compile(_ number: Int, _ entity: Entity, _ placer: RecordPlacer) throws -> OrderRequest {
        let shape = try OrderShape(hasSections: sectionKey != nil, sectionOrder: sectionOrder.shape)
        let versions = Set(placer.versions + [shape.collationVersion].compactMap { $0 })
        let identity = CacheIdentity(
            entity: entity.name, entityVersion: entity.versionHash, predicate: predicate?.description ?? "",
            sort: sortKeys.map(\.description).joined(separator: ","),
            section: sectionKey.map { "\($0) \(sectionOrder.text)" } ?? "",
            collation: versions.sorted().joined(separator: ", "))
        return OrderRequest(builder: OrderBuilder(entity: number, shape: shape, placer: placer), identity: identity)
    }

    /// Why an order of this definition cannot have a cache; nil when it can.
    var uncacheableReason: String? { predicate?.uncacheableReason ?? sectionKey?.uncacheableReason }

    /// The definition of a cache, parsed from its fingerprint.
    package init(_ identity: CacheIdentity) throws {
        self.init(entity: identity.entity)
        if !identity.predicate.isEmpty { predicate = try FetchPredicate(format: identity.predicate, argumentArray: []) }
        sortKeys = try SortKey<ManagedObject>.list(parsing: identity.sort)
        if let blank = identity.section.lastIndex(of: " ") {
            sectionKey = try SectionKey(parsing: String(identity.section[..<blank]))
            sectionOrder = try SectionOrder(parsing: String(identity.section[identity.section.index(after: blank)...]))
        }
    }
}
