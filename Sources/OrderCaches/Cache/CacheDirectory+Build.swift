internal import CountedTree
internal import Records

/// Building a cache without keeping other writers waiting.
///
///     build lock     one build at a time
///     snapshot       place, sort          memory: the request's budget
///     pieces         nodes, a transaction a piece, under a number of their own that the store marks
///     last           header of the snapshot's commit, caught up from the log; old nodes and the mark are taken out
extension CacheDirectory {
    /// Nodes that a transaction writes at most, in bytes: LMDB keeps them in memory until it ends.
    private static let longestPiece = 16 << 20
    /// How long a build waits for another one, before the order is computed in memory.
    private static let patience = Duration.seconds(60)
    /// Builds that are begun anew because too much has changed meanwhile, before other writers have to wait.
    private static let mostAttempts = 3

    /// Builds a named order, unless another build has made it meanwhile and it is not forced. Where the store is read-only,
    /// or this process is writing, in memory: a writer that is open may be the caller's own, which would wait for itself.
    func build(
        _ name: String, _ request: OrderRequest, _ reason: RebuildReason, wantsChange: Bool = false,
        isForced: Bool = false
    ) throws -> OpenedOrder {
        guard !store.isReadOnly, !store.hasOpenWriter, let build = try store.beginBuild(limit: Self.patience) else {
            return try compute(request, in: try store.snapshot(), .rebuilt(reason))
        }
        defer { withExtendedLifetime(build) {} }
        if !isForced, try isBuilt(name, request) { return try open(name, request, wantsChange: wantsChange) }
        try takeOutLeftovers()
        for _ in 0..<Self.mostAttempts {
            let pieces = PieceNodeStore(store, pieceLength: Self.pieceLength(request.builder.memoryBudget))
            do {
                if let opened = try buildOnce(name, request, reason, build, pieces) { return opened }
            } catch {
                // What was written is of no use; the next build takes out what cannot be taken out now.
                try? pieces.discard()
                throw error
            }
            try pieces.discard()
        }
        let writer = try store.beginWrite()
        try Self.requireEntity(of: request, in: writer)
        return try rebuild(name, request, reason, writer)
    }

    private static func pieceLength(_ memoryBudget: Int) -> Int { min(longestPiece, max(memoryBudget / 4, 1 << 16)) }

    /// Whether another build has ended while this one waited.
    private func isBuilt(_ name: String, _ request: OrderRequest) throws -> Bool {
        if case .rebuild = try decide(name, request, in: try store.snapshot()) { false } else { true }
    }

    /// What a killed build has written.
    private func takeOutLeftovers() throws {
        guard try store.snapshot().markedBuild() != nil else { return }
        let writer = try store.beginWrite()
        guard let left = try writer.markedBuild() else { return }
        try LMDBNodeStore.deleteNodes(of: left, in: writer)
        try writer.markBuild(nil)
        try writer.commit()
    }

    /// Throws when a request's entity is not there any more: it was dropped since the request was compiled.
    private static func requireEntity(of request: OrderRequest, in reader: StoreReader) throws {
        let number = request.builder.entity
        guard reader.model.entities.indices.contains(number), !reader.model.entities[number].isDropped else {
            throw StoreError.unknownEntity(request.identity.entity)
        }
    }

    /// Nil when so much has changed meanwhile that the order had better be built anew. The snapshot ends with this function,
    /// so that what a failed build frees can be used again.
    private func buildOnce(
        _ name: String, _ request: OrderRequest, _ reason: RebuildReason, _ build: StoreBuild, _ pieces: PieceNodeStore
    ) throws -> OpenedOrder? {
        let snapshot = try store.snapshot()
        build.begin(at: snapshot.commit)
        try Self.requireEntity(of: request, in: snapshot)
        var builder = request.builder
        // An order is built from records: another order, or the one that it replaces, may be wrong.
        builder.candidates = { _ in nil }
        builder.releasesPages = true
        let order = try builder.build(from: snapshot, in: pieces)
        return try finish(name, request, reason, order, pieces, builtFrom: snapshot)
    }

    /// Puts a built order in its cache's place, and brings it to the newest commit.
    private func finish(
        _ name: String, _ request: OrderRequest, _ reason: RebuildReason, _ order: SectionedOrder,
        _ pieces: PieceNodeStore, builtFrom snapshot: Snapshot
    ) throws -> OpenedOrder? {
        let writer = try store.beginWrite()
        try Self.requireEntity(of: request, in: writer)
        let old = try? Self.header(name, in: writer)
        let oldNumber = try Self.number(of: name, in: writer)
        if let oldNumber { try LMDBNodeStore.deleteNodes(of: oldNumber, in: writer) }
        let number = try pieces.finish(in: writer)
        var header = CacheHeader(
            name: name, number: number, identity: request.identity, created: old?.created ?? Self.now())
        header.builds = (old?.builds ?? 0) &+ 1
        header.catchUps = old?.catchUps ?? 0
        header.adopt(order, commit: snapshot.commit, time: Self.now())
        try Self.put(header, in: writer)
        switch try decide(name, request, in: writer) {
        case .hit: break
        case .catchUp: (header, _) = try caughtUp(header, request, nil, in: writer)
        case .rebuild: return nil
        }
        try Self.trimLog(in: writer)
        let newest = try writer.commitAndRead()
        if let oldNumber { HitCounters(inFolder: store.path).move(from: oldNumber, to: number) }
        return OpenedOrder(
            order: try self.order(header, request, in: newest), outcome: .rebuilt(reason), snapshot: newest)
    }
}

/// Takes nodes that are written once and not read, and writes them in pieces, a transaction each, under a number that no
/// cache has. What fits into one piece is written by the last transaction alone.
final class PieceNodeStore: NodeStore {
    let capacity = LMDBNodeStore.nodeCapacity
    private(set) var nextNode: NodeNumber = 1
    private let store: Store
    private let pieceLength: Int
    private var piece: [(node: NodeNumber, bytes: [UInt8])] = []
    private var length = 0
    /// Nil until a piece is written.
    private var number: UInt32?

    init(_ store: Store, pieceLength: Int) {
        self.store = store
        self.pieceLength = pieceLength
    }

    func read(_ node: NodeNumber, _ body: (RawSpan) throws -> Void) throws {
        preconditionFailure("A build does not read what it has written.")
    }

    func allocate() -> NodeNumber {
        defer { nextNode += 1 }
        return nextNode
    }

    func write(_ node: NodeNumber, _ bytes: consuming [UInt8]) throws {
        length += bytes.count
        piece.append((node, bytes))
        if length < pieceLength { return }
        let writer = try store.beginWrite()
        try writePiece(in: writer)
        try writer.commit()
    }

    func free(_ node: NodeNumber) throws { preconditionFailure("A build writes each node once.") }

    /// The number of the nodes, marked in the store.
    func number(in writer: StoreWriter) throws -> UInt32 {
        if let number {
            guard try writer.markedBuild() == number else {
                throw SectionedOrder.corrupted("a build's nodes were taken out under it")
            }
            return number
        }
        let number = try CacheDirectory.newNumber(in: writer)
        try writer.markBuild(number)
        self.number = number
        return number
    }

    private func writePiece(in writer: StoreWriter) throws {
        let number = try number(in: writer)
        let first = piece.first?.node ?? nextNode
        // Nodes of long keys may have been written before those that name them.
        piece.sort { $0.node < $1.node }
        let nodes = LMDBNodeStore(in: writer, cache: number, nextNode: min(first, piece.first?.node ?? first))
        try nodes.write(piece.map { (node: $0.node, bytes: Optional($0.bytes)) })
        piece = []
        length = 0
    }

    /// Writes what is left and takes the mark away. Returns the number of the nodes.
    func finish(in writer: StoreWriter) throws -> UInt32 {
        try writePiece(in: writer)
        try writer.markBuild(nil)
        return try number ?? number(in: writer)
    }

    /// Takes out what was written.
    func discard() throws {
        piece = []
        guard let number else { return }
        self.number = nil
        let writer = try store.beginWrite()
        guard try writer.markedBuild() == number else { return }
        try LMDBNodeStore.deleteNodes(of: number, in: writer)
        try writer.markBuild(nil)
        try writer.commit()
    }
}
