/// An estimate of the number of pages that a cursor visits in succession. LMDB doesn't tell the page that a cursor is
/// on, and a write transaction has copies of pages anywhere in memory. So two keys count as being on two pages if they
/// are at least a page's length apart.
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
