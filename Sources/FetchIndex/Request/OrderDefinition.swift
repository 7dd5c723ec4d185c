package import FetchIndexRecords
package import FetchIndexOrderCaches
internal import FetchIndexModels
/// The properties of a request that determine its order, and so its cache. The limit and the offset aren't among them.
public struct OrderDefinition: Hashable, Sendable {
    public var entity: String
    public var predicate: FetchPredicate?
    public var sortKeys: [SortKey<ManagedObject>]
    /// The section key; nil if the order has a single, unnamed section.
    public var sectionKey: SectionKey?
    public var sectionOrder: SectionOrder
    /// Whether the order includes objects of subentities.
    public var includesSubentities: Bool
    /// The aggregates that the order maintains.
    public var aggregates: [Aggregate<ManagedObject>]

    public init(
        entity: String, predicate: FetchPredicate? = nil, sortKeys: [SortKey<ManagedObject>] = [],
        sectionKey: SectionKey? = nil, sectionOrder: SectionOrder = .byFirstRow, includesSubentities: Bool = true,
        aggregates: [Aggregate<ManagedObject>] = []
    ) {
        self.entity = entity
        self.predicate = predicate
        self.sortKeys = sortKeys
        self.sectionKey = sectionKey
        self.sectionOrder = sectionOrder
        self.includesSubentities = includesSubentities
        self.aggregates = aggregates
    }

    /// Compiles the definition for a model. The result can build the order, and has the identity of its cache. Throws
    /// if the definition doesn't fit the model, for example because an attribute is missing or has the wrong type.
    func compile(in model: Model) throws -> OrderRequest {
        let number = try model.number(of: entity)
        return try request(compiled(number, in: model, RecordPlacer(self, number, in: model)), in: model)
    }

    /// The numbers of the entities whose objects the order includes, in ascending order.
    func entities(in model: Model) throws -> [Int] {
        let number = try model.number(of: entity)
        return includesSubentities ? model.hierarchy(of: number) : [number]
    }

    /// Compiles the definition, and selects records in a reader's state that include all members of the order.
    /// The fetch needs only the first `most` members.
    package func plan(
        in reader: StoreReader, most: Int = .max
    ) throws -> (request: OrderRequest, selection: RecordSelection) {
        try plan(in: reader, leadingOrders: nil, most: most, besides: [:])
    }

    /// Plans like `plan(in:most:)`, with the given leading orders; if `leadingOrders` is nil, finds them in the reader's
    /// state. Objects with unsaved edits may be missing among the selected records.
    func plan(
        in reader: StoreReader, leadingOrders: [LeadingOrder]?, most: Int, besides edits: [RecordKey: [UInt8]?]
    ) throws -> (request: OrderRequest, selection: RecordSelection) {
        let number = try reader.model.number(of: entity)
        let placer = try RecordPlacer(self, number, in: reader.model)
        let request = try request(compiled(number, in: reader.model, placer), in: reader.model)
        let first = FirstRows(self, most: most, reader.model.entities[number], besides: edits)
        guard predicate != nil || first != nil else { return (request, .all) }
        let planner = try FetchPlanner(
            predicate ?? FetchPredicate(value: true), placer.predicate, placer.table, entity: number,
            among: request.builder.entities, in: reader, leadingOrders, endsEarly: most < .max && sortKeys.isEmpty,
            first: first)
        return (request, try planner.selection())
    }

    /// Makes the request of a compiled order, including the objects that place its rows.
    func request(_ compiled: CompiledOrder, in model: Model) throws -> OrderRequest {
        let headings = try ObjectHeadings(self, compiled.entity, in: model)
        var builder = OrderBuilder(
            entity: compiled.entity, subentities: compiled.subentities, shape: compiled.shape, paths: compiled.paths,
            dependencies: compiled.dependencies, headings: headings?.ofSections
        ) { number in
            let definition = number == compiled.entity ? self : self.current(model.entities[compiled.entity])
            return try RecordPlacer(definition, number, in: model)
        }
        builder.isByNumber = sortKeys.isEmpty
        builder.hasAll = predicate == nil
        builder.identity = compiled.identity
        return OrderRequest(builder: builder, identity: compiled.identity)
    }

    /// The definition with the current names of the entity's attributes. A former name mustn't be used for a subentity,
    /// in which another attribute may have this name.
    private func current(_ entity: Entity) -> OrderDefinition {
        entity.hasRenames ? renamed { entity.slot(of: $0).map { entity.attribute(at: $0).name } } : self
    }

    func compiled(_ number: Int, in model: Model, _ placer: RecordPlacer) throws -> CompiledOrder {
        let entity = model.entities[number]
        let subentities = try entities(in: model).filter { $0 != number }.map {
            ($0, model.entities[$0], try RecordPlacer(current(entity), $0, in: model))
        }
        let paths = placer.paths + subentities.flatMap(\.2.paths)
        var related: [Int: Set<Int>] = [:]
        for path in paths { related.merge(path.reads) { $0.union($1) } }
        let ofPaths = related.keys
        if let headings = placer.headings { related.merge(headings.reads) { $0.union($1) } }
        let shape = try OrderShape(
            hasSections: sectionKey != nil, hasHeadings: placer.headings != nil, sectionOrder: sectionOrder,
            namesAreNumbers: placer.hasNumberedSections, aggregates: placer.columns)
        let versions = Set(placer.versions + [shape.collationVersion].compactMap { $0 })
        let permanent =
            entity.hasRenames || placer.hasRenamedPaths
                || entity.storedRelationships.contains(where: \.isRenamed)
            ? renamed { name in
                entity.slot(of: name).map { entity.slots[$0].permanentName } ?? placer.permanentName(ofPath: name)
            } : self
        let texts = permanent.texts
        let identity = CacheIdentity(
            entity: entity.permanentName,
            reads: CacheIdentity.reads(
                placer.reads, of: entity, subentities.map { ($0, $1, $2.reads) },
                includesSubentities: includesSubentities, related: related, in: model),
            predicate: texts.predicate, sort: texts.sort, section: texts.section,
            aggregates: try permanent.aggregatesKept(placer.columns, of: entity),
            aggregateList: texts.aggregates,
            collation: versions.sorted().joined(separator: ", "))
        let members = [number] + subentities.map(\.0)
        return CompiledOrder(
            entity: number, subentities: subentities.map(\.0).sorted(), shape: shape, paths: paths,
            dependencies: Set(members + ofPaths + (placer.headings?.entities ?? [])).sorted(), identity: identity)
    }

    /// The parts as text; "" for missing parts. `init(_:in:)` can parse all of them except a computed section key.
    package var texts: (predicate: String, sort: String, section: String, aggregates: String) {
        (
            predicate: predicate?.description ?? "", sort: sortKeys.map(\.description).joined(separator: ","),
            section: sectionKey.map { "\($0) \(sectionOrder.text)" } ?? "",
            aggregates: aggregates.map(\.description).joined(separator: ",")
        )
    }

    /// The reason why orders of this definition can't be cached; nil if they can.
    var uncacheableReason: String? { predicate?.uncacheableReason ?? sectionKey?.uncacheableReason }

    /// The definition with renamed attributes; `name` returns the new name of an attribute, or nil to keep the old one.
    private func renamed(_ name: (String) -> String?) -> OrderDefinition {
        var renamed = self
        renamed.predicate = predicate?.renamingAttributes(name)
        renamed.sortKeys = sortKeys.map { SortKey(name($0.attribute) ?? $0.attribute, $0.direction, $0.textOrder) }
        renamed.sectionKey = sectionKey?.renamingAttribute(name)
        renamed.aggregates = aggregates.map { Aggregate($0.function, name($0.attribute) ?? $0.attribute) }
        return renamed
    }

    /// Parses the definition of a cache from its identity, and replaces permanent names by the model's current ones.
    package init(_ identity: CacheIdentity, in model: Model) throws {
        try self.init(permanent: identity)
        includesSubentities = identity.includesSubentities
        guard let number = model.number(ofPermanent: identity.entity) else { return }
        let entity = model.entities[number]
        self.entity = entity.name
        // Removed attributes are included: if an attribute's type changes, its slot is removed, and another slot with
        // its name is added.
        let renames = entity.slots.filter { $0.permanentName != $0.attribute.name }
        let names = Dictionary(renames.map { ($0.permanentName, $0.attribute.name) }) { first, _ in first }
        if !names.isEmpty || model.hasRelationships {
            self = renamed { names[$0] ?? model.currentName(ofPath: $0, from: entity) }
        }
    }

    private init(permanent identity: CacheIdentity) throws {
        self.init(entity: identity.entity)
        if !identity.predicate.isEmpty { predicate = try FetchPredicate(format: identity.predicate, argumentArray: []) }
        sortKeys = try SortKey<ManagedObject>.list(parsing: identity.sort)
        if let blank = identity.section.lastIndex(of: " ") {
            sectionKey = try SectionKey(parsing: String(identity.section[..<blank]))
            sectionOrder = try SectionOrder(parsing: String(identity.section[identity.section.index(after: blank)...]))
        }
        aggregates = try Aggregate.list(parsing: identity.aggregateList)
    }
}
