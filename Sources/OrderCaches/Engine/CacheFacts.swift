internal import FetchIndexModels
package import FetchIndexRecords

/// The facts about a cache that need no request: lists, the report and the live page print them.
package struct CacheFacts {
    package let name: String
    /// The assessment for the request that the cache was built for.
    package let assessment: CacheAssessment
    /// Whether every writer maintains the cache: it belongs to an index, or was set to be maintained.
    package let isMaintained: Bool
    /// Whether the cache is locked, so that no other request can replace it.
    package let isLocked: Bool
    /// The commit since which its exact reader hasn't received changes, even if the cache is fresh; nil if nothing is
    /// unread.
    package let unreadSince: UInt64?
    package let hits: Int
    package let lastHit: Double?
    /// The number of its nodes and their bytes, without LMDB's own overhead; nil if they weren't counted.
    package let nodes: (count: Int, bytes: Int)?

    /// The cache's header; nil if it can't be read.
    package var header: CacheHeader? { assessment.header }
    package var unusable: RebuildReason? { assessment.unusable }
}

extension CacheEngine {
    /// The facts of all caches, by name, with their nodes. O(nodes).
    package func facts(in reader: StoreReader) throws -> [CacheFacts] {
        try CacheDirectory.names(in: reader).map { try facts(of: $0, countingNodes: true, in: reader) }
    }

    /// The facts about a cache. O(log n), or O(nodes) if they are counted. Throws `StoreError.unknownCache`.
    package func facts(of name: String, countingNodes: Bool = false, in reader: StoreReader) throws -> CacheFacts {
        let assessment: CacheAssessment
        do {
            assessment = try Self.assess(CacheDirectory.existingHeader(name, in: reader), in: reader)
        } catch let error as UnusableHeader {
            assessment = .unusable(error.reason, nil)
        }
        // Writes the hits that this process has counted but not written yet.
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
