/// Estimates the number of pages that a cursor visits. LMDB doesn't reveal the cursor's page, and a write transaction
/// has copies of pages at arbitrary addresses. So two keys count as on different pages if their addresses are at least
/// a page's length apart.
package struct VisitedPages {
    package private(set) var count = 0
    /// The address of the key at the last counted page.
    private var address = 0

    package init() {}

    package var byteCount: Int { count * PageLoader.systemPageLength }

    /// Counts the page of the entry at a cursor, unless it's the page that was counted last.
    package mutating func visit(_ cursor: borrowing Cursor) {
        guard abs(cursor.keyAddress - address) >= PageLoader.systemPageLength else { return }
        address = cursor.keyAddress
        count += 1
    }
}
