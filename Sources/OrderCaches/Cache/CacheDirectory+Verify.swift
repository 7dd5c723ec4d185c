internal import CountedTree
package import Records

extension CacheDirectory {
    /// Everything that is wrong with a cache, one sentence each: its nodes' checksums, its trees, its sections, and its
    /// rows against an order computed anew. A cache that is behind is verified as of the newest records it can be
    /// brought to. O(n log n).
    ///
    /// Without a request, the rows are not computed anew: only what the cache is in itself is verified. Without a reader,
    /// the newest state is. Throws `StoreError.corrupted` when the records cannot be read to compare.
    ///
    /// `shared` are the numbers that several caches have, where somebody knows them already.
    package func verify(
        _ name: String, _ request: OrderRequest?, in reader: StoreReader? = nil,
        sharedNumbers shared: Set<UInt32>? = nil
    ) throws -> [String] {
        let reader = try reader ?? store.snapshot()
        let header: CacheHeader
        do {
            guard let found = try Self.header(name, in: reader) else { throw UnknownCache(name: name) }
            header = found
        } catch let error as UnusableHeader {
            return error.defects
        }
        guard (1...LMDBNodeStore.maximumCache).contains(header.number),
            try !(shared ?? Self.sharedNumbers(in: reader)).contains(header.number)
        else {
            return ["its number \(header.number) is another cache's too, or none that a cache can have"]
        }
        guard header.commit <= reader.commit else {
            return ["it is of commit \(header.commit), and the newest is \(reader.commit)"]
        }
        let nodes = LMDBNodeStore(in: reader, cache: header.number, nextNode: header.nextNode)
        let shape = try request?.builder.shape ?? OrderShape(hasSections: !header.identity.section.isEmpty)
        let stored: SectionedOrder
        do { stored = try header.order(entity: request?.builder.entity ?? 0, shape: shape, in: nodes) } catch {
            return ["\(error)"]
        }
        var reachable: Set<NodeNumber> = []
        var defects = stored.rows.check(visiting: &reachable) + stored.sections.check(visiting: &reachable)
        defects += try LMDBNodeStore.inspectNodes(of: header.number, in: reader, reachable: reachable).defects
        guard defects.isEmpty else { return defects }
        guard let request else { return [] }
        defects = try stored.check(sortingIn: store.isReadOnly ? "/tmp" : store.path)
        guard defects.isEmpty else { return defects }
        guard reader.logReaches(back: header.commit) else {
            return []  // It will be rebuilt when it is opened; what it holds is sound in itself.
        }
        do {
            let (current, _) = try replay(header, request, nil, from: reader, nodes)
            var builder = request.builder
            builder.candidates = { _ in nil }  // no order proves another
            return try current.compare(withRowsOf: builder, from: reader)
        } catch let error as TreeError {
            return ["it cannot be brought to the newest records: \(error)"]
        }
    }
}

extension SectionedOrder {
    /// Where the rows differ from those that a builder computes, one sentence.
    fileprivate func compare(withRowsOf builder: OrderBuilder, from reader: StoreReader) throws -> [String] {
        var row = 0
        var defects: [String] = []
        var page: [[UInt8]] = []
        var next = 0
        try builder.forEachSortedKey(from: reader) { key in
            if next == page.count {
                page = try keys(from: row, count: 512)
                next = 0
            }
            let stored = next < page.count ? page[next] : []
            if defects.isEmpty && !key.isEqual(to: stored.span.bytes) {
                defects.append("row \(row) of the rows tree is not the one that the records give")
            }
            next = min(next + 1, page.count)
            row += 1
        }
        if defects.isEmpty && row != rowCount { defects.append("it has \(rowCount) rows; the records give \(row)") }
        return defects
    }

    private func keys(from rank: Int, count: Int) throws -> [[UInt8]] {
        var keys: [[UInt8]] = []
        try rows.walk(from: rank) { key, _ in
            keys.append([UInt8](copying: key))
            return keys.count < count
        }
        return keys
    }
}
