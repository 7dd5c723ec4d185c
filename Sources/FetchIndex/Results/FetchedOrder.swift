package import OrderCaches
internal import Records
public import Models
/// An opened order with the records of its snapshot: sections and rows are read as they are asked for, and nothing is
/// loaded.
///
/// It keeps its snapshot, and so the pages of the store's old state, for as long as it lives.
public struct FetchedOrder {
    private static let rowsLookedUp = 100

    private let opened: OpenedOrder
    private let snapshot: Snapshot
    private let origin: ObjectOrigin
    public let entity: Entity

    init(_ opened: OpenedOrder, _ snapshot: Snapshot, in container: PersistentContainer) {
        self.opened = opened
        self.snapshot = snapshot
        entity = snapshot.model.entities[opened.order.entity]
        origin = container.origin(ofEntity: opened.order.entity, named: entity.name)
    }

    /// Whether the order was there, caught up, or computed.
    public var outcome: FetchOutcome { FetchOutcome(opened.outcome, origin) }

    /// Rows in all sections. O(1).
    public var rowCount: Int { opened.order.rowCount }

    /// Without a section key 1, else the sections that have rows. O(1).
    public var sectionCount: Int { opened.order.sectionCount }

    /// The section at an index. O(log n). Traps unless 0 <= index < sectionCount. Throws when the cache is damaged.
    public func section(at index: Int) throws -> FetchedSection {
        try withPublicErrors {
            FetchedSection(try opened.order.section(at: index))
        }
    }

    /// Hands out the sections in order, from an index on, until the body returns false. O(log n + sections).
    public func forEachSection(from index: Int = 0, _ body: (FetchedSection) throws -> Bool) throws {
        try withPublicErrors {
            try opened.order.walkSections(from: index) { try body(FetchedSection($0)) }
        }
    }

    /// Reads all that the order needs to hand out some sections and rows, without their records. Throws when any of it is
    /// damaged, so that a printer learns of it before it prints anything. O(log n + sections + rows).
    package func prove(sections: Range<Int>, rows: Range<Int>) throws {
        var left = sections.count
        if left > 0 {
            try opened.order.walkSections(from: sections.lowerBound) { _ in
                left -= 1
                return left > 0
            }
        }
        left = rows.count
        if left > 0 {
            var looked = 0
            try opened.order.walkRows(from: rows.lowerBound) { object, _ in
                looked += 1
                // An order of other records shows in the first rows.
                if looked <= Self.rowsLookedUp, try !snapshot.record(object, { _ in }) {
                    throw stale(object)
                }
                left -= 1
                return left > 0
            }
        }
    }

    /// Hands out rows from an offset over all sections. O(log n), and a record a row.
    public func forEachRow(from offset: Int = 0, limit: Int? = nil, _ body: (FetchedRow) throws -> Void) throws {
        try withPublicErrors {
            var left = limit ?? Int.max
            guard left > 0 else { return }
            try opened.order.walkRows(from: offset) { object, position in
                try withRow(object, position, body)
                left -= 1
                return left > 0
            }
        }
    }

    /// Hands out the row that stands n-th over all sections. O(log n). Traps unless 0 <= row < rowCount.
    public func withRow(at row: Int, _ body: (FetchedRow) throws -> Void) throws {
        try withPublicErrors {
            let (object, position) = try opened.order.row(at: row)
            try withRow(object, position, body)
        }
    }

    private func stale(_ object: RecordKey) -> DamagedOrder {
        DamagedOrder(defect: "it names object \(object.number), which is not in the store")
    }

    private func withRow(_ object: RecordKey, _ position: RowPosition, _ body: (FetchedRow) throws -> Void) throws {
        let isFound = try snapshot.record(object) { record in
            try body(
                FetchedRow(
                    id: ObjectID(object, origin), path: RowPath(position), entity: entity,
                    record: try RecordView(record)))
        }
        guard isFound else { throw stale(object) }
    }
}

/// A section of a fetched order.
public struct FetchedSection: Equatable, Sendable {
    /// The section's value as plain text; "" for null and without section key.
    public let name: String
    /// Rows in it.
    public let count: Int
    /// Rows of the sections before it.
    public let rowsBefore: Int
    /// Whether it is the section of the rows without a value. Its name is "", as that of an empty text's.
    public let isNull: Bool

    package init(_ section: OrderSection) {
        name = section.name
        count = section.count
        rowsBefore = section.rowsBefore
        isNull = section.isNull
    }
}

/// A row of a fetched order: its object, its place, and its values, which are decoded when they are asked for.
public struct FetchedRow: ~Escapable {
    public let id: ObjectID
    public let path: RowPath
    private let entity: Entity
    private let record: RecordView

    @_lifetime(copy record)
    init(id: ObjectID, path: RowPath, entity: Entity, record: RecordView) {
        self.id = id
        self.path = path
        self.entity = entity
        self.record = record
    }

    /// The value of an attribute. O(its length). Throws when there is no such attribute or its bytes are damaged.
    public func value(of attribute: String) throws -> Value {
        try withPublicErrors { try value(at: entity.requireSlot(of: attribute)) }
    }

    /// The value of the attribute at an index of the entity's attributes.
    public func value(at slot: Int) throws -> Value {
        try withPublicErrors {
            try record.value(at: slot, as: entity.attributes[slot].type)
        }
    }

    /// Hands out the UTF-8 bytes of a text attribute's value in place. False when it is null or no text.
    package func text(at slot: Int, _ body: (UnsafeRawBufferPointer) -> Void) throws -> Bool {
        guard entity.attributes[slot].type == .string, let range = try record.range(of: slot) else { return false }
        record.bytes(range).withUnsafeBytes(body)
        return true
    }
}
