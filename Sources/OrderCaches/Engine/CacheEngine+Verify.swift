internal import FetchIndexPlatform
internal import FetchIndexModels
internal import FetchIndexCountedTree
package import FetchIndexRecords

extension CacheEngine {
    /// Returns the defects of the cache with this header, in the reader's state, one sentence each: for example wrong
    /// checksums of nodes, defects of trees and sections, and rows that differ from those that the records give. A
    /// cache that is behind is caught up in memory before its rows are compared. O(n log n).
    ///
    /// If the request is nil or has other aggregates, only the header, nodes and trees are checked: the sections aren't
    /// compared with the rows, and the rows aren't compared with the records. If the cache can't be caught up, its rows
    /// aren't compared with the records either. Throws `StoreError.corrupted` if damaged records, or damaged changes in
    /// the log, prevent the comparison.
    ///
    /// `shared` are the cache numbers that several caches have; if it's nil, they are determined here.
    package func verify(
        _ header: CacheHeader, _ request: OrderRequest?, in reader: StoreReader,
        sharedNumbers shared: Set<UInt32>? = nil
    ) throws -> [String] {
        guard (1...LMDBNodeStore.maximumCache).contains(header.number),
            try !(shared ?? CacheDirectory.sharedNumbers(in: reader)).contains(header.number)
        else {
            return ["its number \(header.number) is invalid or belongs to another cache too"]
        }
        guard header.commit <= reader.commit else {
            return ["its commit \(header.commit) is newer than the store's newest commit, \(reader.commit)"]
        }
        let nodes = LMDBNodeStore(header, in: reader)
        // If the request has other aggregates, its rows can't be compared. In that case, only the trees are checked,
        // which are read with the header's layout.
        let same = request.flatMap { $0.identity.aggregates == header.identity.aggregates ? $0 : nil }
        let stored: SectionedOrder
        do {
            let shape = try same?.builder.shape ?? header.shapeForReading()
            stored = try header.order(entity: request?.builder.rowEntity ?? nil, shape: shape, in: nodes)
        } catch {
            return ["\(error)"]
        }
        var reachable: Set<NodeNumber> = []
        var defects = stored.rows.check(visiting: &reachable) + stored.sections.check(visiting: &reachable)
        if stored.shape.hasHeadings { defects += stored.headings.check(visiting: &reachable) }
        defects += try LMDBNodeStore.inspectNodes(of: header.number, in: reader, reachable: reachable).defects
        guard defects.isEmpty else { return defects }
        guard let request = same else { return [] }
        defects = try stored.check(sortingIn: store.sortingFolder)
        guard defects.isEmpty else { return defects }
        let cache = CacheRequest(name: header.name, order: request, needsExactChange: true)
        switch try Self.assess(header, for: cache, in: reader) {
        case .current: return try stored.compare(withRowsOf: request.builder, from: reader)
        case .behind:
            do {
                let current = try caughtUp(header, cache, in: reader, wantsChange: false)
                return try current.order.compare(withRowsOf: request.builder, from: reader)
            } catch  where error.isCacheDamage {
                return ["it cannot be caught up with the newest records: \(error)"]
            }
        // The cache is consistent in itself, but must be rebuilt.
        case .unusable: return []
        }
    }

    /// Rebuilds a damaged cache in a writer's transaction. If that fails because of damaged records, deletes it.
    /// Returns a report of the repair.
    package func repair(_ name: String, _ request: OrderRequest, in writer: StoreWriter) throws -> String {
        do {
            var cache = CacheRequest(name: name, order: request)
            // The state that the cache's exact reader has received is no longer known, so the rebuild is noted as
            // unread.
            cache.rebuildNote = .rebuild
            let rebuilt = try rebuild(cache, .damaged, in: writer)
            return "cache \"\(name)\" was damaged: rebuilt, \(counted(rebuilt.order.rowCount, "row"))"
        } catch StoreError.corrupted {
            return try directory.remove(name, because: "its records cannot be read", in: writer)
        }
    }
}
