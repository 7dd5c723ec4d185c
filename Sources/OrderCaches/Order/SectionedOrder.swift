package import CountedTree
internal import Records

/// A section of an order.
public struct OrderSection: Equatable, Sendable {
    /// The section's value as plain text.
    public let name: String
    /// Rows in it.
    public let count: Int
    /// The rows of the sections before it.
    public let rowsBefore: Int
    /// The section's value as an OrderKey.
    let value: [UInt8]

    /// Whether it is the section of the rows without a value. Its name is "", as that of an empty text's.
    public var isNull: Bool { OrderShape.isNull(value.span.bytes) }
}

/// The rows of a request in order, grouped into sections: two counted trees that each do one thing.
///
///     rows tree      RowPlacement keys: rows of a section are contiguous
///     sections tree  OrderShape.sectionKey keys, weight = rows in the section: sections in display order
///
/// No position is stored. A row at n is a select by weight among sections and a select among rows; a row's position is
/// its rank among rows less the rank of its section's first.
package struct SectionedOrder {
    package let entity: Int
    package let shape: OrderShape
    package internal(set) var rows: CountedTree
    package internal(set) var sections: CountedTree

    package init(entity: Int, shape: OrderShape, rows: CountedTree, sections: CountedTree) {
        self.entity = entity
        self.shape = shape
        self.rows = rows
        self.sections = sections
    }

    package var rowCount: Int { rows.count }
    package var sectionCount: Int { shape.hasSections ? sections.count : 1 }

    /// The same order on another store that continues this one's.
    package func moved(to store: any NodeStore) -> SectionedOrder {
        SectionedOrder(entity: entity, shape: shape, rows: rows.moved(to: store), sections: sections.moved(to: store))
    }

    static func corrupted(_ defect: String) -> TreeError { .corrupted(node: 0, defect) }
}
