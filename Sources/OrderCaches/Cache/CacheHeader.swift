internal import FetchIndexModels
internal import FetchIndexPlatform
internal import FetchIndexCountedTree
internal import FetchIndexRecords

/// The header of a cache: its value in the caches table, whose key is the cache's name. Version 2: the checksum of a
/// node covers its key in the nodes table, and the checksum of the header covers the name. Version 3: the identity
/// names the attributes that the order reads, not their entity's version. Version 4: leaves store the common prefix of
/// their keys once. Version 5: the identity names aggregates. Version 6: like 5, with a third tree for orders with
/// headings. Version 7: keys in a node are stored relative to one another. Version 8: like 7, with headings.
///
///     version 2 (7, or 8 with headings) | cache number 4 | commit 8 | next node 8
///     rows tree    node 8 | level 1 | count 8 | weight 8        sections tree    the same
///     headings tree (version 8)    the same
///     identity: entity, attributes read, predicate, sort, section, summaries, aggregates, collation: eight texts
///     created 8 | updated 8 (seconds since 1970, doubles) | builds 4 | catch-ups 4 | checksum 4
package struct CacheHeader: Sendable {
    static let version: UInt16 = 7
    private static let versionWithHeadings: UInt16 = 8

    package let name: String
    package let number: UInt32
    package internal(set) var identity: CacheIdentity
    /// The commit whose records the order matches.
    package internal(set) var commit: UInt64
    var nextNode: NodeNumber
    var roots: OrderRoots
    package internal(set) var created: Double
    package internal(set) var updated: Double
    package internal(set) var builds: UInt32
    package internal(set) var catchUps: UInt32

    package var rowCount: Int { roots.rows.measure.count }
    package var sectionCount: Int { roots.sections.measure.count }

    init(name: String, number: UInt32, identity: CacheIdentity, created: Double) {
        self.name = name
        self.number = number
        self.identity = identity
        self.created = created
        updated = created
        commit = 0
        nextNode = 1
        roots = OrderRoots()
        builds = 0
        catchUps = 0
    }

    /// Creates the header of a cache that is being built; the roots of its trees aren't set yet. If the name has a
    /// cache with a readable header, copies its creation time and its counts of builds and catch-ups, plus 1 build.
    init(replacing cache: CacheRequest, number: UInt32, in reader: StoreReader) {
        let old = try? CacheDirectory.header(cache.name, in: reader)
        self.init(
            name: cache.name, number: number, identity: cache.order.identity,
            created: old?.created ?? currentTime())
        builds = (old?.builds ?? 0) &+ 1
        catchUps = old?.catchUps ?? 0
    }

    /// Decodes a header. Throws `.damaged` if the header can't be read, and `.formatChanged` if it's intact but has
    /// another version.
    package init(name: String, decoding bytes: RawSpan) throws(UnusableHeader) {
        do {
            if try Self.isOfOtherVersion(bytes, name) { throw UnusableHeader(reason: .formatChanged) }
            var reader = try ByteReader(
                checked: bytes, with: Self.checksum(of: name), "the header of the cache \"\(name)\"")
            let hasHeadings = try reader.uint16() == Self.versionWithHeadings
            self.name = name
            number = try reader.uint32()
            commit = try reader.uint64()
            nextNode = try reader.uint64()
            roots = OrderRoots(
                rows: try Self.readRoot(&reader, isWeighted: false),
                sections: try Self.readRoot(&reader, isWeighted: true))
            if hasHeadings { roots.headings = try Self.readRoot(&reader, isWeighted: false) }
            identity = CacheIdentity(
                entity: try reader.text(), reads: try reader.text(), predicate: try reader.text(),
                sort: try reader.text(), section: try reader.text(), aggregates: try reader.text(),
                aggregateList: try reader.text(), collation: try reader.text())
            created = Double(bitPattern: try reader.uint64())
            updated = Double(bitPattern: try reader.uint64())
            builds = try reader.uint32()
            catchUps = try reader.uint32()
        } catch let error as UnusableHeader {
            throw error
        } catch {
            throw UnusableHeader(reason: .damaged)
        }
    }

    /// Whether the header is intact, but has another version. In version 1, the checksum doesn't cover the name.
    private static func isOfOtherVersion(_ bytes: RawSpan, _ name: String) throws -> Bool {
        var reader = ByteReader(bytes, "a cache's header")
        let version = try reader.uint16()
        return version != Self.version && version != Self.versionWithHeadings
            && (bytes.endsWithChecksum() || bytes.endsWithChecksum(mixedWith: checksum(of: name)))
    }

    /// The checksum of the cache's name. The header's checksum is XORed with it, so that a header isn't accepted under
    /// another name.
    private static func checksum(of name: String) -> UInt32 { Array(name.utf8).span.bytes.checksum }

    private static func readRoot(_ reader: inout ByteReader, isWeighted: Bool) throws -> TreeRoot {
        let node = try reader.uint64()
        let level = try reader.uint8()
        let count = try reader.uint64()
        let weight = try reader.uint64()
        guard count <= Measure.limit, weight <= Measure.limit, (node == 0) == (count == 0) else {
            throw UnusableHeader(reason: .damaged)
        }
        return TreeRoot(
            node: node, level: Int(level), measure: Measure(count: Int(count), weight: Int(weight)),
            isWeighted: isWeighted)
    }

    package var encoded: [UInt8] {
        var bytes: [UInt8] = []
        let hasHeadings = roots.headings.measure.count > 0
        bytes.appendNumber(hasHeadings ? Self.versionWithHeadings : Self.version)
        bytes.appendNumber(number)
        bytes.appendNumber(commit)
        bytes.appendNumber(nextNode)
        for root in [roots.rows, roots.sections] + (hasHeadings ? [roots.headings] : []) {
            bytes.appendNumber(root.node)
            bytes.append(UInt8(root.level))
            bytes.appendNumber(UInt64(root.measure.count))
            bytes.appendNumber(UInt64(root.measure.weight))
        }
        let identity = identity
        for text in [
            identity.entity, identity.reads, identity.predicate, identity.sort, identity.section,
            identity.aggregates, identity.aggregateList, identity.collation,
        ] { bytes.appendText(text) }
        bytes.appendNumber(created.bitPattern)
        bytes.appendNumber(updated.bitPattern)
        bytes.appendNumber(builds)
        bytes.appendNumber(catchUps)
        bytes.appendChecksum(with: Self.checksum(of: name))
        return bytes
    }

    /// The order's shape, for reading the order without its request. Throws if the layout of its summaries is
    /// malformed.
    func shapeForReading() throws -> OrderShape {
        try identity.shapeForReading(hasHeadings: roots.headings.measure.count > 0)
    }

    /// The order whose trees have the header's roots. Throws if the counts of the trees contradict one another.
    func order(entity: Int?, shape: OrderShape, in nodes: any NodeStore) throws -> SectionedOrder {
        guard !shape.hasSections || roots.sections.measure.weight == roots.rows.measure.count else {
            throw SectionedOrder.corrupted("the sections do not count the rows")
        }
        guard roots.headings.measure.count == (shape.hasHeadings ? sectionCount : 0) else {
            throw SectionedOrder.corrupted("the headings are not as many as the sections")
        }
        return SectionedOrder(entity: entity, shape: shape, in: nodes, roots)
    }

    func order(of request: OrderRequest, in nodes: any NodeStore) throws -> SectionedOrder {
        try order(entity: request.builder.rowEntity, shape: request.builder.shape, in: nodes)
    }

    /// Stores an order's roots in the header, as of a commit.
    mutating func take(_ order: SectionedOrder, commit: UInt64, time: Double) {
        roots = order.roots
        nextNode = order.nodes.nextNode
        self.commit = commit
        updated = time
    }

    /// Whether this header and another one of the cache have the same nodes. The headers may differ in the commit,
    /// which can be raised without changing nodes.
    func hasSameNodes(as other: CacheHeader) -> Bool {
        number == other.number && nextNode == other.nextNode && roots == other.roots && builds == other.builds
            && catchUps == other.catchUps && updated.bitPattern == other.updated.bitPattern
    }

    /// The number of changes of these entities since the cache's commit; nil if the log doesn't reach back to that
    /// commit. O(k log n) for k commits since then.
    func changesBehind(of entities: [Int], in reader: StoreReader) throws -> Int? {
        if commit == reader.commit { return 0 }
        guard reader.logReaches(back: commit) else { return nil }
        return try reader.changeCount(of: entities, after: commit)
    }
}

/// The header can't be used, so the cache must be rebuilt.
package struct UnusableHeader: Error {
    package let reason: RebuildReason

    /// The defects that a check of the cache reports. Another format isn't a defect, because a fetch rebuilds the
    /// cache.
    package var defects: [String] {
        reason == .formatChanged ? [] : ["its header is unusable: \(reason.rawValue)"]
    }
}
