/// A change of one slot of a leaf.
struct CellChange {
    let slot: Int
    /// Whether the slot's cell is dropped.
    let drops: Bool
    /// The key of a new cell, which comes before the slot or replaces it; nil if no cell is added.
    var key: StoredKey?
    var weight = 0
    /// The new cell's summary, in trees with summaries.
    var summary: [UInt8] = []
}
