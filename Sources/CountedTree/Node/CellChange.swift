/// A change at one slot of a leaf: its cell is dropped, a cell is added before it, or both (the cell is replaced).
struct CellChange {
    let slot: Int
    /// Whether the slot's old cell is dropped.
    let drops: Bool
    /// The key of the added cell; nil if no cell is added.
    var key: StoredKey?
    var weight = 0
    /// The added cell's summary; empty in a tree without summaries.
    var summary: [UInt8] = []
}
