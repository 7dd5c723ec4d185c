package import FetchIndexOrderCaches
internal import FetchIndexRecords
public import FetchIndexModels
/// An open order: the interface for reading values without objects, for batch jobs. Sections and rows are read on
/// demand; nothing is loaded in advance.
///
/// It retains its snapshot, and so pins the pages of that state, while it exists.
public struct FetchedOrder {
    /// A subentity whose objects are rows.
    struct Other {
        let entity: Entity
        let origin: ObjectOrigin
        /// The slots of the attributes of the requested entity.
        let slots: [Int]
    }

    /// Whether the cache was found damaged after it was opened.
    final class Damage { var isMet = false }

    private static let rowsLookedUp = 100

    let opened: OpenedOrder
    let snapshot: Snapshot
    /// The shared flag that is set if the cache is found damaged.
    private let damage: Damage
    private let origin: ObjectOrigin
    private let entityNumber: Int
    /// The data for rows of subentities, by entity.
    private let others: [Int: Other]
    /// The origins of the objects that are sections, by entity.
    private let sectionOrigins: [Int: ObjectOrigin]
    /// The columns of sections' aggregates; nil without aggregates.
    private let columns: AggregateColumns?
    /// The requested entity; rows may be objects of its subentities.
    public let entity: Entity

    init(
        _ opened: OpenedOrder, of builder: OrderBuilder, _ snapshot: Snapshot, in container: PersistentContainer,
        _ damage: Damage = Damage()
    ) throws {
        self.damage = damage
        self.opened = opened
        self.snapshot = snapshot
        let aggregates = opened.order.shape.aggregates
        columns = aggregates.isEmpty ? nil : aggregates
        let entities = snapshot.model.entities
        entityNumber = builder.entity
        let asked = entities[builder.entity]
        entity = asked
        origin = container.origin(ofEntity: entityNumber, named: asked.name)
        var others: [Int: Other] = [:]
        for number in builder.subentities where entities.indices.contains(number) {
            let entity = entities[number]
            others[number] = Other(
                entity: entity, origin: container.origin(ofEntity: number, named: entity.name),
                slots: try asked.attributes.map { try entity.requireSlot(of: $0.name) })
        }
        self.others = others
        let related = (builder.headings?.entities ?? []).filter(entities.indices.contains)
        sectionOrigins = Dictionary(
            uniqueKeysWithValues: related.map { ($0, container.origin(ofEntity: $0, named: entities[$0].name)) })
    }

    private func other(_ object: RecordKey) throws -> Other? {
        if object.entity == entityNumber { return nil }
        guard let other = others[object.entity] else { throw stale(object) }
        return other
    }

    private func id(of object: RecordKey) -> ObjectID { ObjectID(object, others[object.entity]?.origin ?? origin) }

    /// The column of an attribute of the requested entity, or of a key path through to-one relationships to an
    /// attribute or an object. O(entities x names). Throws `StoreError.unknownAttribute`, and `RequestError` for a path
    /// that leads to many objects.
    package func column(_ name: String) throws -> FetchedColumn {
        let entities = [entityNumber] + others.keys
        return try withPublicErrors { try FetchedColumn(name, of: entities, in: snapshot.model) }
    }

    /// The columns of all attributes of the requested entity.
    package var attributeColumns: [FetchedColumn] {
        entity.attributes.indices.map { FetchedColumn(attribute: $0, of: entity) }
    }

    /// Whether rows may be objects of several entities.
    package var hasSubentities: Bool { opened.order.entity == nil }

    /// The outcome of opening the order.
    public var outcome: FetchOutcome { FetchOutcome(opened.outcome) { id(of: $0) } }

    /// The number of rows in all sections. O(1).
    public var rowCount: Int { opened.order.rowCount }

    /// The number of matching rows. It exceeds `rowCount` if `OrderOptions.wantedRows` left some out and counted them;
    /// without counting, it equals `rowCount`. O(1).
    package var memberCount: Int { opened.memberCount }

    /// The number of sections that have rows; 1 without a section key. O(1).
    public var sectionCount: Int { opened.order.sectionCount }

    /// The section at an index. O(log n). Traps unless 0 <= index < sectionCount. Throws `StoreError`.
    public func section(at index: Int) throws -> FetchedSection {
        try noting {
            try fetched(opened.order.section(at: index))
        }
    }

    /// Calls the body with the sections in order, from an index on, until it returns false. O(log n + sections). Throws
    /// `StoreError`, and the errors of the body.
    public func forEachSection(from index: Int = 0, _ body: (FetchedSection) throws -> Bool) throws {
        try noting {
            try opened.order.walkSections(from: index) { try body(fetched($0)) }
        }
    }

    /// The only section of an order without sections counts all rows, even if the order has only the first of them.
    private func fetched(_ section: OrderSection) -> FetchedSection {
        FetchedSection(
            section, count: opened.order.shape.hasSections ? section.count : memberCount, columns,
            section.object.flatMap { object in sectionOrigins[object.entity].map { ObjectID(object, $0) } })
    }

    /// An aggregate of a range of rows over all sections. O(log n). Throws `RequestError` if the request lacks the
    /// aggregate, and `StoreError`. Traps unless the range is within the rows.
    public func aggregate(_ aggregate: Aggregate<ManagedObject>, inRows range: Range<Int>) throws -> Value {
        precondition(range.lowerBound >= 0 && range.upperBound <= rowCount, "There are no such rows.")
        return try noting {
            try opened.order.shape.aggregates.value(of: aggregate, in: opened.order.summary(ofRows: range))
        }
    }

    /// Reads all data of some sections and rows, and the aggregates of all rows, except records, so that a printer
    /// finds damage before it prints anything. O(log n + sections + rows).
    package func prove(sections: Range<Int>, rows: Range<Int>) throws {
        var left = sections.count
        if left > 0 {
            try opened.order.walkSections(from: sections.lowerBound) { section in
                try opened.order.shape.aggregates.prove(section.summary)
                left -= 1
                return left > 0
            }
        }
        try opened.order.shape.aggregates.prove(opened.order.summary(ofRows: 0..<rowCount))
        left = rows.count
        if left > 0 {
            var looked = 0
            try opened.order.walkRows(from: rows.lowerBound) { object, _ in
                looked += 1
                // An order of other records is detected in the first rows.
                if looked <= Self.rowsLookedUp, try !snapshot.record(object, { _ in }) {
                    throw stale(object)
                }
                left -= 1
                return left > 0
            }
        }
    }

    /// Calls the body with the rows from an offset on, over all sections. O(log n + rows), and reads one record per
    /// row. Throws `StoreError`, and the errors of the body.
    public func forEachRow(from offset: Int = 0, limit: Int? = nil, _ body: (FetchedRow) throws -> Void) throws {
        try noting {
            var left = limit ?? Int.max
            guard left > 0 else { return }
            try opened.order.walkRows(from: offset) { object, position in
                try withRow(object, position, body)
                left -= 1
                return left > 0
            }
        }
    }

    /// Calls the body with the row at a position over all sections. O(log n). Traps unless 0 <= row < rowCount. Throws
    /// the errors of `forEachRow`.
    public func withRow(at row: Int, _ body: (FetchedRow) throws -> Void) throws {
        try noting {
            let (object, position) = try opened.order.row(at: row)
            try withRow(object, position, body)
        }
    }

    /// Reads rows from a position on, until the end or until `isOver` returns true for the position of the next row;
    /// calls the body with those that match a predicate. Returns the position of the next row. O(log n), and reads one
    /// record per row. Throws the errors of `forEachRow`, and `FetchPredicateError` or `RequestError` if the predicate
    /// doesn't fit the entity.
    package func search(
        _ predicate: FetchPredicate, from row: Int, until isOver: (_ row: Int) -> Bool,
        _ body: (_ row: Int, FetchedRow) throws -> Void
    ) throws -> Int {
        try noting {
            let builder = try OrderDefinition(entity: entity.name, predicate: predicate).compile(in: snapshot.model)
                .builder
            var placement = RowPlacement()
            var next = row
            if next >= rowCount { return next }
            try opened.order.walkRows(from: row) { object, path in
                let isFound = try snapshot.record(object) { record in
                    placement.begin()
                    guard let placer = try builder.placer(of: object.entity),
                        try placer.place(object, record, in: snapshot, &placement)
                    else { return }
                    try withRow(object, path) { try body(next, $0) }
                }
                if !isFound { throw stale(object) }
                next += 1
                return !isOver(next)
            }
            return next
        }
    }

    /// Runs the body of a public function, and notes damage of the cache for `withOrder`.
    private func noting<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch {
            if error.isCacheDamage { damage.isMet = true }
            throw publicError(error)
        }
    }

    private func stale(_ object: RecordKey) -> DamagedOrder {
        DamagedOrder(defect: "it names object \(object.number), which is not in the store")
    }

    private func withRow(_ object: RecordKey, _ position: RowPath, _ body: (FetchedRow) throws -> Void) throws {
        let other = try other(object)
        let entity = other?.entity ?? entity
        let isFound = try snapshot.record(object) { record in
            try body(
                FetchedRow(
                    id: id(of: object), path: position, entity: entity,
                    slots: other?.slots ?? entity.attributeSlots,
                    record: try RecordView(record, of: entity), bytes: record, snapshot))
        }
        guard isFound else { throw stale(object) }
    }
}

/// A section of a fetched order.
public struct FetchedSection: Equatable, Sendable {
    /// The section's value as plain text; "" for null and without a section key.
    public let name: String
    /// The number of its rows.
    public let count: Int
    /// The number of rows in the sections before it.
    public let rowsBefore: Int
    /// Whether it is the section of rows without a value. Its name is "", like that of an empty text.
    public let isNull: Bool
    /// The section's object; nil if the section key isn't a relationship, and for the section of rows without a related
    /// object.
    public let objectID: ObjectID?
    /// The columns; nil without aggregates, so that making a section retains no reference.
    private let columns: AggregateColumns?
    private let summary: [UInt8]

    package init(
        _ section: OrderSection, count: Int? = nil, _ columns: AggregateColumns? = nil, _ id: ObjectID? = nil
    ) {
        self.columns = columns
        summary = section.summary
        name = section.name
        self.count = count ?? section.count
        rowsBefore = section.rowsBefore
        isNull = section.isNull
        objectID = id
    }

    public static func == (left: FetchedSection, right: FetchedSection) -> Bool {
        left.name == right.name && left.count == right.count && left.rowsBefore == right.rowsBefore
            && left.isNull == right.isNull && left.objectID == right.objectID && left.summary == right.summary
    }

    /// An aggregate of the section's rows. O(1). Throws `RequestError` if the request lacks it.
    public func aggregate(_ aggregate: Aggregate<ManagedObject>) throws -> Value {
        try withPublicErrors { try (columns ?? .none).value(of: aggregate, in: summary) }
    }
}
