internal import FetchIndexPlatform
package import FetchIndexCountedTree

/// A section of an order.
package struct OrderSection: Equatable, Sendable {
    /// The section's value as plain text.
    package let name: String
    /// The number of its rows.
    package let count: Int
    /// The number of rows in the sections before it.
    package let rowsBefore: Int
    /// The section's value as an OrderKey and the summary of its rows, in one array, because many sections are read at
    /// once.
    package let valueAndSummary: [UInt8]
    package let valueLength: Int
    /// The section's heading; nil in an order without headings.
    let heading: [UInt8]?

    /// A section without rows that belongs to no order.
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

    /// The summary of its rows; empty in an order without aggregates.
    package var summary: [UInt8] {
        valueLength == valueAndSummary.count ? [] : Array(valueAndSummary[valueLength...])
    }

    /// Whether it is the section of rows without a value. Its name is "", like that of an empty text.
    package var isNull: Bool { OrderShape.isNull(valueAndSummary.span.bytes.extracting(first: valueLength)) }
}

/// The rows of a request in order, grouped into sections. It consists of two counted trees, each with one purpose, and
/// a third one if sections are objects.
///
///     rows tree      RowPlacement keys: rows of a section are contiguous
///     sections tree  OrderShape.sectionKey keys, weight = rows in the section: sections in display order
///     headings tree  section value | heading: attributes that a section shows of its object; no row needs them
///     summaries      in the first two trees, if the order has aggregates: of a row's values, of a section's rows
///
/// No position is stored. The row at n is found by a select by weight among sections and a select among rows; a row's
/// position is its rank among rows minus the rank of its section's first row. All trees use the one node store of the
/// order.
package struct SectionedOrder {
    /// The entity of all rows; nil if each row names the entity of its object.
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

    /// This order, read from another store that has its nodes.
    func reopened(in nodes: any NodeStore) -> SectionedOrder {
        SectionedOrder(entity: entity, shape: shape, in: nodes, roots)
    }

    static func corrupted(_ defect: String) -> DamagedOrder { DamagedOrder(defect: defect) }
}

/// The roots of an order's trees: with the nodes they define the order.
struct OrderRoots: Equatable {
    var rows = TreeRoot(isWeighted: false)
    var sections = TreeRoot(isWeighted: true)
    var headings = TreeRoot(isWeighted: false)
}

extension Error {
    /// Whether the damage is in the bytes of a cache, so that a rebuild helps.
    package var isCacheDamage: Bool { self is TreeError || self is DamagedOrder }
}

/// The trees of an order contradict one another, the records, or the change log.
package struct DamagedOrder: DamageReporting, Equatable, CustomStringConvertible {
    package let defect: String

    package init(defect: String) { self.defect = defect }

    package var isDamage: Bool { true }
    package var description: String { "the order of a cache is damaged: \(defect)" }
}
