internal import FetchIndex
internal import FetchIndexCatalogues

/// Rows of a file that were read and converted, and what was bad between them.
struct ReadRows {
    /// Bad rows that are listed.
    static let mostListed = 20

    var rows = RowBatch()
    private(set) var badRowCount = 0
    private(set) var badRows: [BadInput] = []
    /// Bytes of the file that were read, and in all.
    var progress = (done: 0, total: 0)

    init() {}

    /// With room for as many rows as a batch has.
    init(like batch: borrowing RowBatch) { rows = RowBatch(likeOneOf: batch.count, byteCount: batch.byteCount) }

    var isFull: Bool { rows.isFull || badRowCount >= RowBatch.mostRows }
    var rowCount: Int { rows.count + badRowCount }

    mutating func note(_ bad: BadInput) {
        badRowCount += 1
        if badRows.count < Self.mostListed { badRows.append(bad) }
    }
}
