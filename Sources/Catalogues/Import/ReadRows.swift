internal import FetchIndex

/// Rows of a file that were read and converted, and the bad rows between them.
struct ReadRows {
    var rows: RowBatch
    let bad: BadRows
    /// The number of the file's bytes that were read so far, and the file's length, which is 0 for a pipe.
    let progress: (done: Int, total: Int)

    var rowCount: Int { rows.count + bad.count }
}

/// Bad rows that were skipped: their number, and the first ones.
package struct BadRows {
    private static let mostListed = 20

    package private(set) var count = 0
    package private(set) var listed: [BadInput] = []

    package init() {}

    /// Whether there are as many bad rows as a batch may have rows.
    var isFull: Bool { count >= RowBatch.mostRows }

    mutating func note(_ bad: BadInput) {
        count += 1
        if listed.count < Self.mostListed { listed.append(bad) }
    }

    mutating func add(_ other: BadRows) {
        count += other.count
        listed += other.listed.prefix(Self.mostListed - listed.count)
    }
}
