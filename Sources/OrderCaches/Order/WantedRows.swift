/// The rows of an order that a caller wants.
package struct WantedRows {
    package static let all = WantedRows(most: .max, countsAll: true)

    /// The maximum number of rows that the caller wants, beginning with the first row.
    package let most: Int
    /// Whether the caller also wants the number of all members.
    package let countsAll: Bool

    package init(most: Int, countsAll: Bool = false) {
        self.most = most
        self.countsAll = countsAll
    }
}
