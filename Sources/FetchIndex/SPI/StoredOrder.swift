internal import FetchIndexCountedTree
internal import FetchIndexOrderCaches
internal import FetchIndexPlatform
internal import FetchIndexRecords

/// The stored order of a cache, which may be behind.
///
/// For charts, which must not cost a catch-up. Users open current orders with
/// ``PersistentContainer/withOrder(_:_:_:)``. The rows of a stored order may belong to deleted objects, so only
/// sections and counts can be read.
package struct StoredOrder {
    /// The size of an order's trees of sections and rows.
    package struct Size: Sendable {
        /// The number of nodes of both trees.
        package let nodeCount: Int
        /// The number of levels of the rows tree.
        package let levels: Int
        /// The mean fill of the sampled leaves of the rows tree, as a fraction of a node's capacity.
        package let leafFill: Double
        /// The number of leaves of the rows tree.
        package let leafCount: Int
        /// The number of sampled leaves of the rows tree.
        package let leavesRead: Int
    }

    private let order: SectionedOrder

    init(_ order: SectionedOrder) { self.order = order }

    package var hasSections: Bool { order.shape.hasSections }
    package var rowCount: Int { order.rowCount }
    package var sectionCount: Int { order.sectionCount }

    /// The fingerprint of all rows, as 32 hexadecimal digits; nil if the order keeps none. O(1) without sections, O(log
    /// n) otherwise. Throws `StoreError`.
    package func fingerprint() throws -> String? {
        try withPublicErrors {
            let aggregates = order.shape.aggregates
            guard aggregates.hasFingerprint else { return nil }
            return try aggregates.fingerprint(of: order.summary(ofRows: 0..<rowCount)).description
        }
    }

    /// The section at an index. O(log n). Traps unless 0 <= index < sectionCount. Throws `StoreError`.
    package func section(at index: Int) throws -> FetchedSection {
        try withPublicErrors { FetchedSection(try order.section(at: index)) }
    }

    /// The first `limit` sections, or all if there are fewer. O(sections). Throws `StoreError`.
    package func sections(limit: Int) throws -> [FetchedSection] {
        try withPublicErrors {
            if limit < 1 { return [] }
            var sections: [FetchedSection] = []
            try order.walkSections { section in
                sections.append(FetchedSection(section))
                return sections.count < limit
            }
            return sections
        }
    }

    /// Determines the size by reading all branches of both trees, and about `leaves` leaves of each tree. Returns nil
    /// for an order without rows. O(branches + leaves). Throws `StoreError`.
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
