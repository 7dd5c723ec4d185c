internal import FetchIndexCountedTree
internal import FetchIndexRecords

/// Writes the nodes of a build in pieces, under a cache number that isn't used by a cache. Each piece has its own
/// transaction, except for the last piece, which is written in the build's last transaction. The build doesn't read
/// nodes again.
final class PieceNodeStore: NodeStore {
    let capacity = LMDBNodeStore.nodeCapacity
    private(set) var nextNode: NodeNumber = 1
    private let store: Store
    private let pieceLength: Int
    /// The maximum time that each transaction waits for another writer; nil for no limit.
    private let limit: Duration?
    private var piece: [(node: NodeNumber, bytes: [UInt8])] = []
    private var length = 0
    /// The cache number under which the nodes are written; nil before the first piece.
    private var number: UInt32?

    init(_ store: Store, pieceLength: Int, limit: Duration? = nil) {
        self.store = store
        self.pieceLength = pieceLength
        self.limit = limit
    }

    func read(_ node: NodeNumber, _ body: (RawSpan) throws -> Void) throws {
        preconditionFailure("A build does not read nodes that it has written.")
    }

    func allocate() -> NodeNumber {
        defer { nextNode += 1 }
        return nextNode
    }

    func write(_ node: NodeNumber, _ bytes: consuming [UInt8]) throws {
        length += bytes.count
        piece.append((node, bytes))
        if length < pieceLength { return }
        let writer = try store.beginWrite(limit: limit, changesRecords: false)
        try writePiece(in: writer)
        try writer.commit()
    }

    func free(_ node: NodeNumber) throws { preconditionFailure("A build writes each node once.") }

    /// Returns the cache number under which the nodes are written. The first call chooses the number, and marks it in
    /// the store as a running build's. Throws if the mark was removed or replaced.
    func number(in writer: StoreWriter) throws -> UInt32 {
        if let number {
            guard try writer.markedBuild() == number else {
                throw SectionedOrder.corrupted("the nodes of a running build were deleted")
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
        // `LMDBNodeStore.write` needs the nodes in the order of their numbers.
        piece.sort { $0.node < $1.node }
        let nodes = LMDBNodeStore(writingIn: writer, cache: number, nextNode: min(first, piece.first?.node ?? first))
        try nodes.write(piece.map { (node: $0.node, bytes: Optional($0.bytes)) })
        piece = []
        length = 0
    }

    /// Writes the last piece and removes the mark from the store. Returns the cache number under which the nodes are
    /// written.
    func finish(in writer: StoreWriter) throws -> UInt32 {
        try writePiece(in: writer)
        try writer.markBuild(nil)
        return try number ?? number(in: writer)
    }

    /// Deletes the pieces that were written, if the store still marks them.
    func discard() throws {
        piece = []
        guard let number else { return }
        self.number = nil
        let writer = try store.beginWrite(limit: limit, changesRecords: false)
        guard try writer.markedBuild() == number else { return }
        try LMDBNodeStore.deleteNodes(of: number, in: writer)
        try writer.markBuild(nil)
        try writer.commit()
    }
}
