internal import FetchIndexModels
package import FetchIndexRecords

/// What is known of a cache without its request: what lists, the report and the live page print.
package struct CacheFacts {
    package let name: String
    /// For the request that the cache was built for.
    package let assessment: CacheAssessment
    /// Whether every writer keeps it: an index, or a cache that is to be maintained.
    package let isMaintained: Bool
    /// Whether no other request replaces it.
    package let isLocked: Bool
    /// The commit since which its exact reader has not had what changed, though the cache may be fresh; nil when nothing is noted.
    package let unreadSince: UInt64?
    package let hits: Int
    package let lastHit: Double?
    /// The number of its nodes and the bytes in them, without LMDB's own overhead; nil where they were not counted.
    package let nodes: (count: Int, bytes: Int)?

    /// Nil when it cannot be read.
    package var header: CacheHeader? { assessment.header }
    package var unusable: RebuildReason? { assessment.unusable }
    /// Whether the order reflects the newest records: nothing that it depends on has changed since its commit.
    package var isFresh: Bool { assessment.isCurrent }

    /// How many changes the cache is behind; nil when it is unusable.
    package var changesBehind: Int? {
        switch assessment {
        case .current: 0
        case .behind(_, let changes): changes
        case .unusable: nil
        }
    }
}

extension CacheEngine {
    /// The facts of all caches, by name, with their nodes. O(nodes).
    package func facts(in reader: StoreReader) throws -> [CacheFacts] {
        try CacheDirectory.names(in: reader).map { try facts(of: $0, countingNodes: true, in: reader) }
    }

    /// What is known of a cache. O(log n), and O(nodes) where these are counted. Throws `StoreError.unknownCache`.
    package func facts(of name: String, countingNodes: Bool = false, in reader: StoreReader) throws -> CacheFacts {
        let assessment: CacheAssessment
        do {
            assessment = try Self.assess(CacheDirectory.existingHeader(name, in: reader), in: reader)
        } catch let error as UnusableHeader {
            assessment = .unusable(error.reason, nil)
        }
        // Those that this process has counted and not written yet.
        self.hits?.write()
        let header = assessment.header
        let hits = header.map { statistics.hits(of: $0.number, name) }
        return CacheFacts(
            name: name, assessment: assessment,
            isMaintained: CacheDirectory.isIndex(name) || CacheDirectory.isMaintained(name, in: reader),
            isLocked: CacheDirectory.isLocked(name, in: reader),
            unreadSince: try header.flatMap { try CacheDirectory.unreadSince(name, $0, in: reader) },
            hits: hits?.count ?? 0, lastHit: hits?.last, nodes: try countingNodes ? nodes(of: header, in: reader) : nil)
    }

    private func nodes(of header: CacheHeader?, in reader: StoreReader) throws -> (count: Int, bytes: Int) {
        guard let header else { return (0, 0) }
        let nodes = try LMDBNodeStore.inspectNodes(of: header.number, in: reader)
        return (nodes.count, nodes.bytes)
    }
}
