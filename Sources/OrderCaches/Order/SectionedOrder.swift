internal import FetchIndexPlatform
package import FetchIndexCountedTree

/// A section of an order.
package struct OrderSection: Equatable, Sendable {
    /// The section's value as plain text; if the section is a related object, the name in its heading.
    package let name: String
    /// The number of rows in the section.
    package let count: Int
    /// The number of rows in the sections before this one.
    package let rowsBefore: Int
    /// The section's value as an OrderKey, followed by the summary of its rows. One array holds both, because an array
    /// is an allocation and many sections are read.
    package let valueAndSummary: [UInt8]
    package let valueLength: Int
    /// The section's heading; nil in an order without headings.
    let heading: [UInt8]?

    /// A section without rows, which doesn't belong to an order.
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
    package var value: [UInt8] {
        valueLength == valueAndSummary.count ? valueAndSummary : Array(valueAndSummary[..<valueLength])
    }

    /// The summary of the section's rows; empty in an order without aggregates.
    package var summary: [UInt8] {
        valueLength == valueAndSummary.count ? [] : Array(valueAndSummary[valueLength...])
    }

    /// Whether the section has the rows whose section value is null. Its name is "", like that of an empty text.
    package var isNull: Bool { OrderShape.isNull(valueAndSummary.span.bytes.extracting(first: valueLength)) }
}

/// An order: the rows of a request, sorted and grouped into sections. It consists of two counted trees, and of a third
/// one if its sections are related objects.
///
///     rows tree      RowPlacement keys: rows of a section are contiguous
///     sections tree  OrderShape.sectionKey keys, weight = rows in the section: sections in display order
///     headings tree  section value | heading: attributes that a section shows of its object
///     summaries      in the first two trees, if the order has aggregates: of a row's values, of a section's rows
///
/// Positions aren't stored. In an order with sections, three descents find the row at a position: a select by weight in
/// the sections tree finds the section; the rank of the section's value in the rows tree is the rank of its first row;
/// a select in the rows tree finds the row. In an order without sections, the last descent is enough. A row's position
/// in its section is its rank in the rows tree minus the rank of the section's first row. All trees of an order have
/// their nodes in the same store.
package struct SectionedOrder {
    /// The entity of all rows; nil if rows may be of several entities, and so each row key names its entity.
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

    /// Creates an order without rows.
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

    /// Returns this order in another node store, which must have its nodes.
    func reopened(in nodes: any NodeStore) -> SectionedOrder {
        SectionedOrder(entity: entity, shape: shape, in: nodes, roots)
    }

    static func corrupted(_ defect: String) -> DamagedOrder { DamagedOrder(defect: defect) }
}

/// The roots of an order's trees.
struct OrderRoots: Equatable {
    var rows = TreeRoot(isWeighted: false)
    var sections = TreeRoot(isWeighted: true)
    var headings = TreeRoot(isWeighted: false)
}

extension Error {
    /// Whether damage in the bytes of a cache may be the cause of the error. Rebuilding the cache mends such damage.
    package var isCacheDamage: Bool { self is TreeError || self is DamagedOrder }
}

/// An order is damaged, or can't be built because of damage: for example, the bytes of its keys are malformed, or its
/// trees contradict one another, the records or the change log.
package struct DamagedOrder: DamageReporting, Equatable, CustomStringConvertible {
    package let defect: String

    package init(defect: String) { self.defect = defect }

    package var isDamage: Bool { true }
    package var description: String { "an order is damaged: \(defect)" }
}
