/// The bytes of a node. Numbers are little-endian.
///
///     node         kind 1 | level 1 | slots 2 | end of each cell 2 x slots | cells
///     leaf cell                        [weight 8] | [length 2 | summary] | shared 1 or 3 | rest of the key
///     branch cell  child 8 | count 8 | [weight 8] | [length 2 | summary] | shared 1 or 3 | rest of the key
///     shared       0 to 254 in one byte, otherwise 255 and the number in 2
///     long key     its first bytes | overflow node 8 | whole length 4
///     overflow     kind 1 | 0 1 | 0 2 | next node 8 | bytes
///
/// A slot's key in a branch is a lower bound of the keys below the slot. The first slot needs no bound: its key is
/// empty, and the key numbers in the following text don't count it.
///
/// A key is stored without the prefix that it shares with another key, its base. Key 0 of a node has no base. The base
/// of key i is the key whose number is i with its lowest set bit cleared, as in Fenwick's binary indexed tree (A New
/// Data Structure for Cumulative Frequency Tables, 1994):
///
///     key    0  1  2  3  4  5  6  7  8
///     base   -  0  0  2  0  4  4  6  0
///
/// - A key is assembled from at most log2(n) + 1 cells.
/// - Keys ascend, so a key shares at least as much with the key before it as with its base: a reader of all keys in
///   order assembles each key from the one before it.
/// - A binary search looks at a key with a base only if the base is less than the wanted key, and knows the common
///   prefix of the base and the wanted key. If the key shares more than that with its base, it's less than the wanted
///   key; if it shares less, it's greater; only if it shares as much, bytes are compared. This is offset-value coding
///   (Conner 1977; Graefe and Do, Offset-value coding in database query processing, 2023). It requires that the node
///   has equally many bytes of each long key.
///
/// The end of a cell counts from the start of the first cell; its highest bit marks a long key, which has more bytes
/// than `maximumInlineKey`. Only weighted trees have weights, and only trees with a summarizer have summaries. A leaf
/// has level 0; a node's children are one level lower, so that a descent ends even if a pointer is damaged. A leaf or
/// branch ends with its last cell, so a store may append padding.
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

    static let headerLength = 4

    static let longKeyMark: UInt16 = 0x8000
    /// The length of the reference at the end of a long key's cell: the overflow node and the key's whole length.
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

    /// Writes a node's kind, level and number of slots.
    static func writeHeader(level: Int, _ form: CellForm, slotCount: Int, to node: UnsafeMutableRawBufferPointer) {
        node[0] = kind(level: level, form).rawValue
        node[1] = UInt8(level)
        node.storeBytes(of: UInt16(slotCount).littleEndian, toByteOffset: 2, as: UInt16.self)
    }

    /// The offset of the weight in a cell.
    static func weightOffset(isLeaf: Bool) -> Int { isLeaf ? 0 : 16 }

    /// The length of the part of a cell before its summary, or before its key in a tree without summaries.
    static func fixedLength(isLeaf: Bool, _ form: CellForm) -> Int {
        weightOffset(isLeaf: isLeaf) + (form.isWeighted ? 8 : 0) + (form.hasSummaries ? summaryLengthLength : 0)
    }

    static let summaryLengthLength = 2

    /// The slot of a node's first key: a branch's first slot has no key.
    static func firstKeySlot(isLeaf: Bool) -> Int { isLeaf ? 0 : 1 }

    /// The first byte of a shared length of three bytes. The length is in the next two bytes.
    static let longSharedMark: UInt8 = 255

    /// The length in bytes of the field for a shared length.
    static func fieldLength(ofShared length: Int) -> Int { length < Int(longSharedMark) ? 1 : longSharedFieldLength }

    private static let longSharedFieldLength = 3

    /// The length up to which cells with ascending keys are added to a node of `slotCount` slots. The rest of the node
    /// is room for changes: if filled nodes had no room, nearly every first change of a node would split it. A removal
    /// may need room too, since the keys after the removed one get other bases. The first two cells may use the whole
    /// node, so that a filled branch has at least two children.
    static func filledLength(behind slotCount: Int, capacity: Int) -> Int {
        slotCount < 2 ? capacity : capacity - capacity / 16
    }

    /// The length of the longest key that is stored whole in its node. Of a longer key, the node has this many bytes
    /// and a reference to the rest. A cell without a summary takes at most a quarter of a node. In a tree with
    /// summaries, two cells fit into a node if the summaries leave room for them.
    static func maximumInlineKey(capacity: Int, _ form: CellForm) -> Int {
        let room = capacity - headerLength
        let plain = CellForm(isWeighted: true, maximumSummary: nil)
        let others = 2 + fixedLength(isLeaf: false, plain) + 1 + longKeyReferenceLength
        guard let summary = form.maximumSummary else { return room / 4 - others }
        return max(0, min(room / 4, room / 2 - summaryLengthLength - summary) - others)
    }
}
