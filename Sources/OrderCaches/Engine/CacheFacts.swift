internal import FetchIndexModels
package import FetchIndexRecords

/// The facts about a cache that are known without a request, for lists, the report and the live page.
package struct CacheFacts {
    package let name: String
    /// The assessment of the cache for the request that built it.
    package let assessment: CacheAssessment
    /// Whether writers of records maintain the cache, because it belongs to an index or is in the list of maintained
    /// caches.
    package let isMaintained: Bool
    /// Whether the cache is locked, so that other requests can't replace it.
    package let isLocked: Bool
    /// The last commit that the cache's exact reader has received, or the commit of a rebuild that it hasn't received;
    /// nil if the reader has received everything, or if the cache's header can't be read. It may be set even if the
    /// cache is fresh.
    package let unreadSince: UInt64?
    package let hits: Int
    package let lastHit: Double?
    /// The number of the cache's nodes, and their length in bytes without LMDB's overhead; zeros if the header can't be
    /// read, nil if the nodes weren't counted.
    package let nodes: (count: Int, bytes: Int)?

    /// The cache's header; nil if it can't be read.
    package var header: CacheHeader? { assessment.header }
    package var unusable: RebuildReason? { assessment.unusable }
}

extension CacheEngine {
    /// The facts about all caches, in the order of their names, including the numbers of their nodes. O(nodes), and the
    /// cost of `facts(of:)` for each cache.
    package func facts(in reader: StoreReader) throws -> [CacheFacts] {
        try CacheDirectory.names(in: reader).map { try facts(of: $0, countingNodes: true, in: reader) }
    }

    /// The facts about a cache. O(k log n) for k commits since the cache's commit, or since the commit that its exact
    /// reader last received, if that is older; and O(nodes) if nodes are counted. Throws `CacheError.unknown` if
    /// the cache is missing.
    package func facts(of name: String, countingNodes: Bool = false, in reader: StoreReader) throws -> CacheFacts {
        let assessment: CacheAssessment
        do {
            assessment = try Self.assess(CacheDirectory.existingHeader(name, in: reader), in: reader)
        } catch let error as UnusableHeader {
            assessment = .unusable(error.reason, nil)
        }
        // Writes the hits that this engine has counted but not written yet.
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
