/// The bytes of a node. Numbers are little-endian.
///
///     node         kind 1 | level 1 | slots 2 | prefix length 2 | end of each cell 2 x slots | prefix | cells
///     leaf cell                            [weight 8] | key without the prefix
///     branch cell  child 8 | count 8 | [weight 8] | key        key <= all keys below; the first cell's is empty
///     long key     its first bytes | overflow node 8 | whole length 4
///     overflow     kind 1 | 0 1 | 0 2 | next node 8 | bytes
///
/// A leaf stores the bytes that all its keys begin with once (prefix truncation: Graefe, Modern B-Tree Techniques, 3.5);
/// a branch's prefix is empty. Ends count from the first cell; their highest bit marks a long key, one that would take more than a quarter
/// of a node. Weights are there in weighted trees only. The level of a leaf is 0; a node's children stand one
/// level lower, so that no damaged pointer can make a descent cycle. A leaf or branch ends with its last cell: a store
/// may pad it.
enum NodeLayout {
    enum Kind: UInt8 {
        case leaf = 1
        case branch = 2
        case weightedLeaf = 3
        case weightedBranch = 4
        case overflow = 5
    }

    static let headerLength = 6
    static let prefixLengthOffset = 4
    static let longKeyMark: UInt16 = 0x8000
    /// The reference at the end of a long key's cell.
    static let longKeyReferenceLength = 12
    static let overflowHeaderLength = 12
    static let maximumLevel = 40

    static func kind(level: Int, isWeighted: Bool) -> Kind {
        switch (level == 0, isWeighted) {
        case (true, false): .leaf
        case (false, false): .branch
        case (true, true): .weightedLeaf
        case (false, true): .weightedBranch
        }
    }

    /// The length of what precedes the key in a cell.
    static func keyOffset(isLeaf: Bool, isWeighted: Bool) -> Int { (isLeaf ? 0 : 16) + (isWeighted ? 8 : 0) }

    /// The longest key that a cell holds whole; of a longer one, it holds this many bytes. With it, a cell takes
    /// at most a quarter of a node, so that the halves of a split always fit.
    static func maximumInlineKey(capacity: Int) -> Int {
        (capacity - headerLength) / 4 - 2 - keyOffset(isLeaf: false, isWeighted: true) - longKeyReferenceLength
    }
}
