internal import FetchIndex
internal import FetchIndexCatalogues

/// Rows of a file that were read and converted, and what was bad between them.
struct ReadRows {
    let rows: RowBatch
    let bad: BadRows
    /// Bytes of the file that were read, and in all.
    let progress: (done: Int, total: Int)

    var rowCount: Int { rows.count + bad.count }
}

/// Bad rows that were left out: their number, and the first ones.
struct BadRows {
    static let mostListed = 20

    private(set) var count = 0
    private(set) var listed: [BadInput] = []

    /// Whether the number of bad rows is the maximum for a batch, which then ends even without rows.
    var isFull: Bool { count >= RowBatch.mostRows }

    mutating func note(_ bad: BadInput) {
        count += 1
        if listed.count < Self.mostListed { listed.append(bad) }
    }
}
