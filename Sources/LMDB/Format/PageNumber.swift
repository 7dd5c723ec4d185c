/// The number of a page: its offset in the file divided by the page length.
typealias PageNumber = UInt64

/// A set of page numbers, one bit each.
struct PageSet {
    private var words: [UInt64]
    private(set) var count = 0

    /// Creates an empty set for the page numbers below `end`.
    init(below end: Int) { words = [UInt64](repeating: 0, count: end / 64 + 1) }

    func contains(_ page: PageNumber) -> Bool {
        words[Int(page / 64)] & (1 << (page % 64)) != 0
    }

    /// Adds a page. Returns false if the set had it already.
    mutating func insert(_ page: PageNumber) -> Bool {
        if contains(page) { return false }
        words[Int(page / 64)] |= 1 << (page % 64)
        count += 1
        return true
    }
}
