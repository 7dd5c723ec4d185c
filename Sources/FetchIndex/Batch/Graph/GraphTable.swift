internal import FetchIndexEssentials
package import FetchIndexModels
internal import FetchIndexRecords
package import FetchIndexValues

/// An entity whose objects an ``ObjectGraphWriter`` writes.
package struct GraphTable: Sendable {
    package let entityNumber: Int
    package let entity: Entity
    /// The to-one relationships whose links are in the entity's records. A row has one link for each.
    package let references: [EntityLinks.Reference]
    /// Whether neither the entity nor one of its hierarchy has ever had objects, so that all rows are new objects.
    package let isNew: Bool
    /// The entities whose objects are written before this one's.
    let written: Set<Int>

    /// The place of a relationship's link in rows; nil if the links are elsewhere.
    package func place(of relationship: String) -> Int? { references.firstIndex { $0.relationship == relationship } }
}

/// A many-to-many relationship whose links an ``ObjectGraphWriter`` writes.
package struct GraphJoin: Sendable {
    let entityNumber: Int
    /// The references of a join record to the object whose links are given, and to the linked object.
    let near: EntityLinks.Reference
    let far: EntityLinks.Reference
    let isNew: Bool
}

/// Rows of a table, as records that aren't written yet. Another thread can make them.
package struct GraphBatch {
    private static let mostRows = 8192
    private static let mostBytes = 4 << 20

    /// A link that a row's record doesn't have yet.
    struct LaterLink {
        let row: Int
        /// The place of the relationship in the table's references.
        let place: Int
        let link: RowLink
    }

    package let table: GraphTable
    private(set) var records = RecordBatch()
    private(set) var numbers: [UInt64] = []
    /// The links that are made later, in the order of their rows.
    private(set) var later: [LaterLink] = []
    private var builder = RecordBuilder()

    package init(_ table: GraphTable) { self.table = table }

    package var count: Int { numbers.count }
    package var isFull: Bool { numbers.count >= Self.mostRows || records.byteCount >= Self.mostBytes }

    /// Adds a row with its object number, which must be greater than that of the last row of the table. `values` are in
    /// the order of the entity's attributes, `links` in the order of the table's references. Throws `StoreError` if a
    /// value has another type than its attribute, or is null although it's required.
    package mutating func append(_ number: UInt64, _ values: [Value], _ links: [RowLink?]) throws {
        var slots: [Int: Value] = [:]
        for (place, link) in links.enumerated() {
            guard let link else { continue }
            let reference = table.references[place]
            // A link to an object that isn't written yet is made later, and so is a link of a one-to-one relationship,
            // because another object may still have it.
            if reference.isUnique || !isEarlier(link.object, than: number) {
                later.append(LaterLink(row: numbers.count, place: place, link: link))
                continue
            }
            slots[reference.slot] = link.object.reference
            slots[reference.position] = link.position.map { .data(Data($0)) } ?? .null
        }
        try builder.assemble(values, of: table.entity, others: slots)
        records.append(&builder)
        numbers.append(number)
    }

    private func isEarlier(_ object: RecordKey, than number: UInt64) -> Bool {
        object.entity == table.entityNumber ? object.number < number : table.written.contains(object.entity)
    }
}

extension RowLink {
    /// A link whose position in an ordered relationship is given by a number; nil is the last position. Links with the
    /// same number are in the order of the objects' numbers.
    package init(_ object: RecordKey, order: Int64?, otherOrder: Int64? = nil, isOrdered: Bool, isOtherOrdered: Bool) {
        self.init(
            object, position: isOrdered ? OrderedPosition.position(of: order ?? .max) : nil,
            otherPosition: isOtherOrdered ? OrderedPosition.position(of: otherOrder ?? .max) : nil)
    }
}
