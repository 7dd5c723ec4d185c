/// What becomes of a slot of a leaf.
struct CellChange {
    let slot: Int
    /// Whether the slot's cell goes.
    let drops: Bool
    /// The key of a cell that stands before the slot then, or in its place; nil when there is none.
    var key: StoredKey?
    var weight = 0
    /// In trees with summaries.
    var summary: [UInt8] = []
}
