internal import FetchIndexCountedTree
internal import FetchIndexOrderCaches
internal import FetchIndexRecords

/// The order of a cache as it is stored, which may be behind.
///
/// For charts, which cost no catch-up. Users open orders with ``PersistentContainer/withOrder(_:_:_:)``, which are current: the rows of this
/// one may be of objects that are gone, so only sections and counts can be read.
package struct StoredOrder {
    /// Nodes and fill of the two trees.
    package struct Size: Sendable {
        /// Nodes of both trees.
        package let nodeCount: Int
        /// Levels of the tree of rows.
        package let levels: Int
        /// The mean part of a node's capacity that the leaves which were read fill.
        package let leafFill: Double
        package let leafCount: Int
        package let leavesRead: Int
    }

    private let order: SectionedOrder

    init(_ order: SectionedOrder) { self.order = order }

    package var hasSections: Bool { order.shape.hasSections }
    package var rowCount: Int { order.rowCount }
    package var sectionCount: Int { order.sectionCount }

    /// O(log n). Traps unless 0 <= index < sectionCount. Throws `StoreError`.
    package func section(at index: Int) throws -> FetchedSection {
        try withPublicErrors { FetchedSection(try order.section(at: index)) }
    }

    /// The first sections, at most some. O(sections). Throws `StoreError`.
    package func sections(limit: Int) throws -> [FetchedSection] {
        try withPublicErrors {
            var sections: [FetchedSection] = []
            try order.walkSections { section in
                sections.append(FetchedSection(section))
                return sections.count < limit
            }
            return sections
        }
    }

    /// Reads all branches of the trees and about so many leaves; nil for an order without rows. O(branches + leaves). Throws `StoreError`.
    package func size(sampledLeaves leaves: Int) throws -> Size? {
        try withPublicErrors {
            let (rows, sections) = (try order.rows.shape(leaves: leaves), try order.sections.shape(leaves: leaves))
            guard let fill = rows.leafFill(capacity: CacheDirectory.nodeCapacity) else { return nil }
            return Size(
                nodeCount: (rows.nodes + sections.nodes).reduce(0, +), levels: rows.nodes.count, leafFill: fill,
                leafCount: rows.nodes[0], leavesRead: rows.leavesRead)
        }
    }
}
