/// Which rows of an order a caller wants.
package struct WantedRows {
    package static let all = WantedRows(most: .max, countsAll: true)

    /// The first rows, so many.
    package let most: Int
    /// Whether it also wants to know how many rows there are.
    let countsAll: Bool

    package init(most: Int, countsAll: Bool = false) {
        self.most = most
        self.countsAll = countsAll
    }
}
