internal import FetchIndexPlatform
internal import FetchIndexCountedTree
internal import FetchIndexLMDB
internal import FetchIndexRecords

/// Stores the nodes of one cache in a store's nodes table.
///
/// A node has at most 4,076 bytes, so that with its checksum and the header of LMDB 0.9 it fits into one overflow page
/// of 4,096 bytes. LMDB 1.0 has longer headers and page checksums: a node of more than 4,060 bytes, which only edits
/// make, takes two pages there. If pages have this length, a leaf or branch of at least a quarter of the maximum length
/// is padded, so that it gets an overflow page even if LMDB would store it inline. If nodes were inline, a page would
/// hold only a few of them, and would be written with each change of one of them. With overflow pages, LMDB's own tree
/// has few pages. A change of a node writes its overflow page and the pages of LMDB's tree that lead to it, which many
/// nodes share.
final class LMDBNodeStore: NodeStore {
    static let nodeCapacity = 4076
    private static let checksumLength = 4
    private static let keyLength = 8
    static let maximumCache: UInt32 = (1 << 24) - 1
    private static let nodeMask: UInt64 = (1 << 40) - 1

    /// The reader is retained, because its transaction must exist as long as nodes are read.
    private let reader: StoreReader
    private let cache: UInt32
    private(set) var nextNode: NodeNumber
    /// The least node number that this object may allocate.
    private let firstNew: NodeNumber
    private var canAppend = true
    /// The addresses of recently read nodes in the map, by the low bits of their numbers, because every descent reads
    /// the upper levels of a tree. Writing may move a node, so the addresses aren't used after this object's first
    /// write. Empty until the first node is read or prefetched. This isn't a lazy property, because a lazy array would
    /// be copied when an element changes.
    private var recentNodes: [Place] = []
    private var hasWritten = false
    /// The sum of bytes that `prefetch` reads. Computing it keeps the compiler from removing the reads.
    private var touched: UInt8 = 0
    private static let placeCount = 256
    /// The assumed length of the processor's cache lines in bytes.
    private static let cacheLine = 64

    private struct Place {
        var node: NodeNumber = 0
        /// The bytes of the node and its checksum.
        var value = UnsafeRawBufferPointer(start: nil, count: 0)
        var isChecked = false
    }

    let capacity: Int
    /// The minimum length of a value that LMDB stores on overflow pages, because two values of this length wouldn't fit
    /// into a page. Nil if this object only reads, if nodes of its capacity are always inline, or if the page size is
    /// unknown.
    private let ownPageLength: Int?

    private init(_ reader: StoreReader, _ cache: UInt32, _ nextNode: NodeNumber, capacity: Int, ownPageLength: Int?) {
        self.reader = reader
        self.cache = cache
        self.nextNode = nextNode
        self.capacity = capacity
        self.ownPageLength = ownPageLength
        firstNew = nextNode
    }

    /// Opens a cache's nodes for reading only.
    convenience init(
        in reader: StoreReader, cache: UInt32, nextNode: NodeNumber, capacity: Int = LMDBNodeStore.nodeCapacity
    ) {
        self.init(reader, cache, nextNode, capacity: capacity, ownPageLength: nil)
    }

    convenience init(_ header: CacheHeader, in reader: StoreReader) {
        self.init(in: reader, cache: header.number, nextNode: header.nextNode)
    }

    /// Opens a cache's nodes for writing. Only tests use another capacity than the default.
    convenience init(
        writingIn writer: StoreWriter, cache: UInt32, nextNode: NodeNumber, capacity: Int = LMDBNodeStore.nodeCapacity
    ) {
        let ownPageLength = Self.ownPageLength(in: writer, capacity)
        self.init(writer, cache, nextNode, capacity: capacity, ownPageLength: ownPageLength)
    }

    convenience init(_ header: CacheHeader, writingIn writer: StoreWriter) {
        self.init(writingIn: writer, cache: header.number, nextNode: header.nextNode)
    }

    private static func ownPageLength(in writer: StoreWriter, _ capacity: Int) -> Int? {
        let shortest = writer.store.environment.shortestOverflowValue(keyLength: keyLength)
        return shortest <= capacity + checksumLength ? shortest : nil
    }

    static func key(_ cache: UInt32, _ node: NodeNumber) -> UInt64 { UInt64(cache) << 40 | node & nodeMask }

    func read(_ node: NodeNumber, _ body: (RawSpan) throws -> Void) throws {
        let index = Self.index(of: node)
        if recentNodes.isEmpty { rememberNodes() }
        var place = recentNodes[index]
        if place.node != node || node == 0 || hasWritten { place = try find(node) }
        if !place.isChecked {
            try check(place)
            place.isChecked = true
            if !hasWritten { recentNodes[index] = place }
        }
        try body(place.value.bytes.extracting(first: place.value.count - Self.checksumLength))
    }

    private func rememberNodes() { recentNodes = Array(repeating: Place(), count: Self.placeCount) }

    private static func index(of node: NodeNumber) -> Int { Int(truncatingIfNeeded: node) & (placeCount - 1) }

    private func check(_ place: Place) throws {
        guard Self.isWhole(place.value.bytes, under: Self.key(cache, place.node)) else {
            throw TreeError.corrupted(node: place.node, "it does not match its checksum")
        }
    }

    /// The checksum of a node's key. The node's checksum is XORed with it, so that a node isn't accepted under another
    /// key.
    private static func checksum(ofKey key: UInt64) -> UInt32 {
        withUnsafeBytes(of: key.littleEndian) { $0.bytes.checksum }
    }

    private func find(_ node: NodeNumber) throws -> Place {
        try check(node)
        var place = Place(node: node)
        do {
            let isFound = try reader.view.get(Self.key(cache, node), in: reader.tables.nodes) { value in
                place.value = value.withUnsafeBytes { $0 }
            }
            if !isFound { throw TreeError.corrupted(node: node, "it is missing") }
        } catch let error as LMDBError where error.isDamage {
            throw TreeError.corrupted(node: node, error.reason)
        }
        return place
    }

    private func check(_ node: NodeNumber) throws {
        guard node > 0, node < nextNode else { throw TreeError.corrupted(node: node, "no node has this number") }
    }

    /// Looks up nodes in the order of their numbers, because neighbours are often on the same LMDB page. Then reads a
    /// byte of each processor cache line of the nodes, so that cache misses overlap. Does nothing after a write, or if
    /// the nodes are too many. Ignores missing nodes, which `read` reports.
    func prefetch(_ nodes: [NodeNumber]) {
        if hasWritten || nodes.count > Self.placeCount { return }
        if recentNodes.isEmpty { rememberNodes() }
        var unknown = nodes.filter { $0 > 0 && $0 < nextNode && recentNodes[Self.index(of: $0)].node != $0 }
        if unknown.isEmpty { return }
        unknown.sort()
        var places: [Place] = []
        places.reserveCapacity(unknown.count)
        try? reader.view.withCursor(on: reader.tables.nodes) { cursor in
            for node in unknown {
                let key = Self.key(cache, node)
                guard try cursor.seek(toKeyFrom: key), cursor.integerKey == key else { continue }
                places.append(Place(node: node, value: cursor.value.withUnsafeBytes { $0 }))
            }
        }
        // One byte of each node is read first, so that the processor translates several page addresses in parallel.
        for place in places where !place.value.isEmpty { touched &+= place.value[0] }
        for place in places {
            recentNodes[Self.index(of: place.node)] = place
            for offset in stride(from: 0, to: place.value.count, by: Self.cacheLine) { touched &+= place.value[offset] }
        }
    }

    // MARK: Writing

    /// Writes a node. New nodes that are written in ascending order fill LMDB's pages.
    func write(_ node: NodeNumber, _ bytes: consuming [UInt8]) throws {
        let bytes = bytes
        try reader.view.withCursor(on: reader.tables.nodes) { cursor in try write(node, bytes, at: &cursor) }
    }

    func write(_ nodes: [(node: NodeNumber, bytes: [UInt8]?)]) throws {
        try reader.view.withCursor(on: reader.tables.nodes) { cursor in
            for (node, bytes) in nodes { if let bytes { try write(node, bytes, at: &cursor) } }
        }
        for (node, bytes) in nodes where bytes == nil { try free(node) }
    }

    private func write(_ node: NodeNumber, _ bytes: [UInt8], at cursor: inout Cursor) throws {
        hasWritten = true
        nextNode = max(nextNode, node + 1)
        let key = Self.key(cache, node)
        if canAppend && node >= firstNew {
            do {
                try put(bytes, for: key, at: &cursor, appending: true)
                return
            } catch let error as LMDBError where error == .keyExists {
                canAppend = false
            }
        }
        try put(bytes, for: key, at: &cursor, appending: false)
    }

    private func put(_ bytes: [UInt8], for key: UInt64, at cursor: inout Cursor, appending: Bool) throws {
        let length = paddedLength(of: bytes)
        try cursor.put(reserving: length + Self.checksumLength, for: key, appending: appending) { value in
            value.copyBytes(from: bytes)
            if length > bytes.count {
                UnsafeMutableRawBufferPointer(rebasing: value[bytes.count..<length]).initializeMemory(
                    as: UInt8.self, repeating: 0)
            }
            let node = UnsafeRawBufferPointer(rebasing: value[..<length]).bytes
            let checksum = node.checksum ^ Self.checksum(ofKey: key)
            value.storeBytes(of: checksum.littleEndian, toByteOffset: length, as: UInt32.self)
        }
    }

    /// The length of a node with the padding that makes LMDB store it on an overflow page. Short nodes and the overflow
    /// nodes of long keys aren't padded.
    private func paddedLength(of bytes: [UInt8]) -> Int {
        guard let ownPageLength, bytes.count >= capacity / 4, NodePadding.isAllowed(behind: bytes) else {
            return bytes.count
        }
        return max(bytes.count, ownPageLength - Self.checksumLength)
    }

    func allocate() -> NodeNumber {
        defer { nextNode += 1 }
        return nextNode
    }

    func free(_ node: NodeNumber) throws {
        hasWritten = true
        try reader.view.delete(Self.key(cache, node), in: reader.tables.nodes)
    }
}

extension LMDBNodeStore {
    /// The cache numbers under which the store has nodes. O(caches x log n).
    static func caches(in reader: StoreReader) throws -> [UInt32] {
        try reader.view.withCursor(on: reader.tables.nodes) { cursor in
            var caches: [UInt32] = []
            var isAtEntry = try cursor.seekToFirst()
            while isAtEntry {
                let cache = UInt32(truncatingIfNeeded: cursor.integerKey >> 40)
                caches.append(cache)
                if cache == maximumCache { break }
                isAtEntry = try cursor.seek(toKeyFrom: key(cache + 1, 0))
            }
            return caches
        }
    }

    /// Deletes all nodes of a cache.
    static func deleteNodes(of cache: UInt32, in writer: StoreWriter) throws {
        try writer.view.walk(writer.tables.nodes, from: key(cache, 0)) { cursor in
            guard cursor.integerKey >> 40 == UInt64(cache) else { return false }
            try cursor.deleteCurrent()
            return true
        }
    }

    /// The number of a cache's nodes, their total length in bytes, and their defects: wrong checksums, and nodes that
    /// aren't in `reachable`. If `reachable` is nil, defects aren't looked for. O(nodes).
    static func inspectNodes(
        of cache: UInt32, in reader: StoreReader, reachable: Set<NodeNumber>? = nil
    ) throws -> (count: Int, bytes: Int, defects: [String]) {
        var count = 0
        var bytes = 0
        var defects: [String] = []
        try reader.view.walk(reader.tables.nodes, from: key(cache, 0)) { cursor in
            guard cursor.integerKey >> 40 == UInt64(cache) else { return false }
            let node = cursor.integerKey & nodeMask
            count += 1
            bytes += cursor.value.byteCount
            if let reachable {
                if !isWhole(cursor.value, under: cursor.integerKey) {
                    defects.append("node \(node) does not match its checksum")
                }
                if !reachable.contains(node) { defects.append("node \(node) belongs to no tree") }
            }
            return true
        }
        return (count, bytes, defects)
    }

    private static func isWhole(_ value: RawSpan, under key: UInt64) -> Bool {
        value.byteCount > checksumLength && value.endsWithChecksum(mixedWith: checksum(ofKey: key))
    }
}
