/// The bytes of a node. Numbers are little-endian.
///
///     node         kind 1 | level 1 | slots 2 | prefix length 2 | end of each cell 2 x slots | prefix | cells
///     leaf cell                        [weight 8] | [length 2 | summary] | key without the prefix
///     branch cell  child 8 | count 8 | [weight 8] | [length 2 | summary] | key    key <= all keys below; the first's is empty
///     long key     its first bytes | overflow node 8 | whole length 4
///     overflow     kind 1 | 0 1 | 0 2 | next node 8 | bytes
///
/// A leaf stores the bytes that all its keys begin with once (prefix truncation: Graefe, Modern B-Tree Techniques, 3.5);
/// a branch's prefix is empty. Ends count from the first cell; their highest bit marks a long key, one that would take more than a quarter
/// of a node. Weights are there in weighted trees only, summaries in trees with a summarizer. The level of a leaf is 0; a node's children stand one
/// level lower, so that no damaged pointer can make a descent cycle. A leaf or branch ends with its last cell: a store
/// may pad it.
enum NodeLayout {
    enum Kind: UInt8 {
        case leaf = 1
        case branch = 2
        case weightedLeaf = 3
        case weightedBranch = 4
        case overflow = 5
        case leafWithSummaries = 6
        case branchWithSummaries = 7
        case weightedLeafWithSummaries = 8
        case weightedBranchWithSummaries = 9
    }

    static let headerLength = 6
    static let prefixLengthOffset = 4
    static let longKeyMark: UInt16 = 0x8000
    /// The reference at the end of a long key's cell.
    static let longKeyReferenceLength = 12
    static let overflowHeaderLength = 12
    static let maximumLevel = 40

    static func kind(level: Int, _ form: CellForm) -> Kind {
        switch (level == 0, form.isWeighted) {
        case (true, false): form.hasSummaries ? .leafWithSummaries : .leaf
        case (false, false): form.hasSummaries ? .branchWithSummaries : .branch
        case (true, true): form.hasSummaries ? .weightedLeafWithSummaries : .weightedLeaf
        case (false, true): form.hasSummaries ? .weightedBranchWithSummaries : .weightedBranch
        }
    }

    /// Where the weight stands in a cell.
    static func weightOffset(isLeaf: Bool) -> Int { isLeaf ? 0 : 16 }

    /// The length of what precedes the summary in a cell, or the key where there are no summaries.
    static func fixedLength(isLeaf: Bool, _ form: CellForm) -> Int {
        weightOffset(isLeaf: isLeaf) + (form.isWeighted ? 8 : 0) + (form.hasSummaries ? summaryLengthLength : 0)
    }

    static let summaryLengthLength = 2

    /// The longest key that a cell holds whole; of a longer one, it holds this many bytes. With it, a cell takes
    /// at most a quarter of a node, so that the halves of a split always fit. With summaries, two cells fit into a node.
    static func maximumInlineKey(capacity: Int, _ form: CellForm) -> Int {
        let room = capacity - headerLength
        let plain = CellForm(isWeighted: true, maximumSummary: nil)
        let others = 2 + fixedLength(isLeaf: false, plain) + longKeyReferenceLength
        guard let summary = form.maximumSummary else { return room / 4 - others }
        return max(0, min(room / 4, room / 2 - summaryLengthLength - summary) - others)
    }
}
