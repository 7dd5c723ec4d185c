/// An estimate of how many pages a cursor comes to, one after the other. LMDB does not tell the page that a cursor is on, and a write
/// transaction has copies of pages anywhere in memory. So two keys are taken as of two pages when they are at least a page's length apart.
package struct VisitedPages {
    package private(set) var count = 0
    /// The address of the key that the last page was counted for.
    private var address = 0

    package init() {}

    package var byteCount: Int { count * PageBounds.systemPageLength }

    /// Counts the page of the entry at a cursor, unless it is the last one that was counted.
    package mutating func visit(_ cursor: borrowing Cursor) {
        guard abs(cursor.keyAddress - address) >= PageBounds.systemPageLength else { return }
        address = cursor.keyAddress
        count += 1
    }
}
