internal import FetchIndexOrderCaches
internal import FetchIndexRecords
public import FetchIndexModels
/// An open order, for batch jobs. Sections and rows are read on demand, and reading a row makes no managed object.
///
/// The order retains the reader of its state, which pins the pages of that state.
public struct FetchedOrder {
    /// A subentity whose objects may be among the rows.
    struct Other {
        let entity: Entity
        let origin: ObjectOrigin
        /// The slots of the requested entity's attributes.
        let slots: [Int]
    }

    /// Whether damage of the cache was found since the order was opened. It's a class, so that copies of the order
    /// share this state.
    final class Damage {
        var isMet = false
        /// Whether the transaction that the order shows has ended, so that it can't be read any more.
        var isEnded = false

        func requireOpen() {
            precondition(!isEnded, "An order of a transaction's preview must not be read after the preview.")
        }
    }

    let opened: OpenedOrder
    let reader: StoreReader
    /// The order with its state: that of the reader, or an earlier one.
    let shown: PastOrder
    let builder: OrderBuilder
    let container: PersistentContainer
    let damage: Damage
    /// The order of the reader's own state, from which earlier ones are undone.
    let newest: SectionedOrder
    private let origin: ObjectOrigin
    let entityNumber: Int
    /// The subentities whose objects may be among the rows, by number.
    let others: [Int: Other]
    /// The part of an id that all section objects of an entity share, by entity number. Empty unless the rows are
    /// grouped by a related object.
    private let sectionOrigins: [Int: ObjectOrigin]
    /// The columns of the sections' aggregates; nil if the request has no aggregates.
    private let columns: AggregateColumns?
    /// The requested entity; rows may also be objects of its subentities.
    public let entity: Entity

    init(
        _ opened: OpenedOrder, of builder: OrderBuilder, _ reader: StoreReader, in container: PersistentContainer,
        at past: PastOrder? = nil, damage: Damage = Damage()
    ) throws {
        self.damage = damage
        (self.builder, self.container) = (builder, container)
        self.opened = past.map(opened.at) ?? opened
        newest = opened.order
        self.reader = reader
        shown = past ?? PastOrder(order: opened.order, state: reader, commit: reader.commit)
        let aggregates = opened.order.shape.aggregates
        columns = aggregates.isEmpty ? nil : aggregates
        let entities = reader.model.entities
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

    func id(of object: RecordKey) -> ObjectID { ObjectID(object, others[object.entity]?.origin ?? origin) }

    /// How the order was opened.
    public var outcome: FetchOutcome { opened.outcome.identified { id(of: $0) } }

    /// The number of rows in all sections. O(1).
    public var rowCount: Int { opened.order.rowCount }

    /// The number of sections. If the request has a section key, each section has rows; otherwise the order always has
    /// one section, which may be empty. O(1).
    public var sectionCount: Int { opened.order.sectionCount }

    /// The section at an index. O(log n). Traps unless 0 <= index < sectionCount. Throws `StoreError`.
    public func section(at index: Int) throws -> FetchedSection {
        try noting {
            try fetched(opened.order.section(at: index))
        }
    }

    /// Calls the body with the sections in order, starting at an index, until the body returns false. O(log n +
    /// sections). Throws `StoreError`, and rethrows the body's errors.
    public func forEachSection(from index: Int = 0, _ body: (FetchedSection) throws -> Bool) throws {
        try noting {
            try opened.order.walkSections(from: index) { try body(fetched($0)) }
        }
    }

    /// Makes a section. If the request has no section key, the count is `memberCount`, which may exceed the number of
    /// rows if the order was limited to the first ones.
    private func fetched(_ section: OrderSection) -> FetchedSection {
        FetchedSection(
            section, count: opened.order.shape.hasSections ? section.count : memberCount, columns,
            section.object.flatMap { object in sectionOrigins[object.entity].map { ObjectID(object, $0) } })
    }

    /// An aggregate of the rows in a range, whose indexes count over all sections. O(log n). Traps unless the range is
    /// within the rows. Throws `RequestError` if the request doesn't have the aggregate, and `StoreError`.
    public func aggregate(_ aggregate: Aggregate<ManagedObject>, inRows range: Range<Int>) throws -> Value {
        precondition(range.lowerBound >= 0 && range.upperBound <= rowCount, "A range of rows must be within the order.")
        return try noting {
            try opened.order.shape.aggregates.value(of: aggregate, in: opened.order.summary(ofRows: range))
        }
    }

    /// Calls the body with up to `limit` rows, starting at an offset that counts over all sections. O(log n) for each
    /// row, because its record is looked up. Throws `StoreError`, and rethrows the body's errors.
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

    /// Calls the body with the row at an index that counts over all sections. O(log n). Traps or throws unless 0 <= row
    /// < rowCount. Throws the errors of `forEachRow`.
    public func withRow(at row: Int, _ body: (FetchedRow) throws -> Void) throws {
        try noting {
            let (object, position) = try opened.order.row(at: row)
            try withRow(object, position, body)
        }
    }

    /// Runs the body of a public function. If the body finds damage of the cache, records that, so that `withOrder` can
    /// rebuild the cache.
    func noting<Result>(_ body: () throws -> Result) throws -> Result {
        damage.requireOpen()
        do { return try body() } catch {
            if error.isCacheDamage { damage.isMet = true }
            throw publicError(error)
        }
    }

    func stale(_ object: RecordKey) -> DamagedOrder {
        DamagedOrder(defect: "it names object \(object.number), which cannot be one of its rows")
    }

    func withRow(_ object: RecordKey, _ position: RowPath, _ body: (FetchedRow) throws -> Void) throws {
        let other = try other(object)
        let entity = other?.entity ?? entity
        let isFound = try shown.state.record(object) { record in
            try body(
                FetchedRow(
                    id: id(of: object), path: position, entity: entity,
                    slots: other?.slots ?? entity.attributeSlots,
                    record: try RecordView(record, of: entity), bytes: record, shown.state))
        }
        guard isFound else { throw stale(object) }
    }
}

/// A section of a fetched order.
public struct FetchedSection: Equatable, Sendable {
    /// The section's value, or the name of its related object, as plain text; "" for null, and if the request has no
    /// section key.
    public let name: String
    /// The number of rows in the section. If the request has no section key, and the order was limited to the first
    /// rows, the number may include the other matching rows.
    public let count: Int
    /// The number of rows in all preceding sections.
    public let rowsBefore: Int
    /// Whether this is the section of the rows whose section value is null. Its name is "", like the name of the
    /// section of empty texts.
    public let isNull: Bool
    /// The related object by which the rows are grouped; nil if the section key isn't a relationship, and for the
    /// section of rows without a related object.
    public let objectID: ObjectID?
    /// The columns of the aggregates; nil if the request has none.
    private let columns: AggregateColumns?
    private let summary: [UInt8]

    init(
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

    /// An aggregate of the section's rows. O(1). Throws `RequestError` if the request doesn't have the aggregate, and
    /// `StoreError`.
    public func aggregate(_ aggregate: Aggregate<ManagedObject>) throws -> Value {
        try withPublicErrors { try (columns ?? .none).value(of: aggregate, in: summary) }
    }
}
