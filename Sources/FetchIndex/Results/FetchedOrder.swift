/// An opened order with the records of its snapshot: sections and rows are read as they are asked for.
package struct FetchedOrder {
    private let opened: OpenedOrder

    init(_ opened: OpenedOrder) { self.opened = opened }

    package var outcome: OrderOutcome { opened.outcome }
    package var rowCount: Int { opened.order.rowCount }
    package var sectionCount: Int { opened.order.sectionCount }
    package var entity: Entity { opened.snapshot.model.entities[opened.order.entity] }

    /// Hands out the sections in order until the body returns false. O(log n + sections).
    package func forEachSection(_ body: (OrderSection) throws -> Bool) throws {
        try opened.order.walkSections(from: 0, body)
    }

    /// A row: its object, where it stands, and its record in place.
    package typealias RowBody = (ObjectID, RowPath, RecordView) throws -> Void

    /// Hands out rows from an offset over all sections. O(log n) and a record each.
    package func forEachRow(from offset: Int = 0, limit: Int? = nil, _ body: RowBody) throws {
        var left = limit ?? Int.max
        guard left > 0 else { return }
        try opened.order.walkRows(from: offset) { object, path in
            try withRecord(object) { try body(object, path, $0) }
            left -= 1
            return left > 0
        }
    }

    /// Hands out the record of the n-th row over all sections. O(log n). Traps unless 0 <= row < rowCount.
    package func withRow(at row: Int, _ body: (ObjectID, RecordView) throws -> Void) throws {
        let object = try opened.order.object(at: row)
        try withRecord(object) { try body(object, $0) }
    }

    private func withRecord(_ object: ObjectID, _ body: (RecordView) throws -> Void) throws {
        let isFound = try opened.snapshot.record(object) { try body(RecordView($0)) }
        guard isFound else {
            throw StaleOrder(object: object)
        }
    }
}

/// An order names an object that is not there: its cache is damaged.
struct StaleOrder: Error, CustomStringConvertible {
    let object: ObjectID
    var description: String { "the order names object \(object.number), which is not in the store" }
}
