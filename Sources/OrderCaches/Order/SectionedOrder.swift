internal import FetchIndexPlatform
package import FetchIndexCountedTree

/// A section of an order.
package struct OrderSection: Equatable, Sendable {
    /// The section's value as plain text.
    package let name: String
    /// Rows in it.
    package let count: Int
    /// The rows of the sections before it.
    package let rowsBefore: Int
    /// The section's value as an OrderKey and the summary of its rows, in one array, because many sections are read at once.
    package let valueAndSummary: [UInt8]
    package let valueLength: Int
    /// What the section shows of its object; nil in an order whose sections are of no objects.
    let heading: [UInt8]?

    /// One without rows, of no order.
    package static let empty = OrderSection(name: "", count: 0, rowsBefore: 0, valueAndSummary: [], valueLength: 0)

    init(
        name: String, count: Int, rowsBefore: Int, valueAndSummary: [UInt8], valueLength: Int, heading: [UInt8]? = nil
    ) {
        self.name = name
        self.count = count
        self.rowsBefore = rowsBefore
        self.valueAndSummary = valueAndSummary
        self.valueLength = valueLength
        self.heading = heading
    }

    /// The section's value as an OrderKey.
    var value: [UInt8] {
        valueLength == valueAndSummary.count ? valueAndSummary : Array(valueAndSummary[..<valueLength])
    }

    /// Of its rows; empty in an order without aggregates.
    package var summary: [UInt8] {
        valueLength == valueAndSummary.count ? [] : Array(valueAndSummary[valueLength...])
    }

    /// Whether it is the section of the rows without a value. Its name is "", as that of an empty text's.
    package var isNull: Bool { OrderShape.isNull(valueAndSummary.span.bytes.extracting(first: valueLength)) }
}

/// The rows of a request in order, grouped into sections: two counted trees that each do one thing,
/// and a third one where sections are of objects.
///
///     rows tree      RowPlacement keys: rows of a section are contiguous
///     sections tree  OrderShape.sectionKey keys, weight = rows in the section: sections in display order
///     headings tree  section value | heading: what a section shows of its object, so that no row needs it
///     summaries      in the first two, where the order has aggregates: of a row's values, of a section's rows
///
/// No position is stored. A row at n is a select by weight among sections and a select among rows; a row's position is
/// its rank among rows less the rank of its section's first. All trees are views of the one node store that the order
/// owns.
package struct SectionedOrder {
    /// Nil: each row names the entity of its object.
    package let entity: Int?
    package let shape: OrderShape
    package let nodes: any NodeStore
    var roots: OrderRoots

    init(entity: Int?, shape: OrderShape, in nodes: any NodeStore, _ roots: OrderRoots) {
        self.entity = entity
        self.shape = shape
        self.nodes = nodes
        self.roots = roots
    }

    /// An order without rows.
    package init(entity: Int?, shape: OrderShape, in nodes: any NodeStore) {
        self.init(entity: entity, shape: shape, in: nodes, OrderRoots())
    }

    package var rows: CountedTree {
        get { CountedTree(in: nodes, root: roots.rows, summarizer: shape.summarizer) }
        set { roots.rows = newValue.root }
    }

    package var sections: CountedTree {
        get { CountedTree(in: nodes, root: roots.sections, summarizer: shape.summarizer) }
        set { roots.sections = newValue.root }
    }

    var headings: CountedTree {
        get { CountedTree(in: nodes, root: roots.headings) }
        set { roots.headings = newValue.root }
    }

    package var rowCount: Int { roots.rows.measure.count }
    package var sectionCount: Int { shape.hasSections ? roots.sections.measure.count : 1 }

    /// The same order in another store that has its nodes.
    func reopened(in nodes: any NodeStore) -> SectionedOrder {
        SectionedOrder(entity: entity, shape: shape, in: nodes, roots)
    }

    static func corrupted(_ defect: String) -> DamagedOrder { DamagedOrder(defect: defect) }
}

/// The roots of an order's trees: all that is needed beside its nodes.
struct OrderRoots: Equatable {
    var rows = TreeRoot(isWeighted: false)
    var sections = TreeRoot(isWeighted: true)
    var headings = TreeRoot(isWeighted: false)
}

extension Error {
    /// Whether the bytes of a cache are to blame, so that a rebuild helps.
    package var isCacheDamage: Bool { self is TreeError || self is DamagedOrder }
}

/// The trees of an order do not agree with each other, with the records, or with the change log.
package struct DamagedOrder: DamageReporting, Equatable, CustomStringConvertible {
    package let defect: String

    package init(defect: String) { self.defect = defect }

    package var isDamage: Bool { true }
    package var description: String { "the order of a cache is damaged: \(defect)" }
}
