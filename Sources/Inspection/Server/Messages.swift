// The messages to the page's scripts, sent as JSON.

/// The columns and counts of a cache's rows.
struct ViewMessage: Encodable {
    struct Column: Encodable {
        let name: String
        /// The kind of the values: number, date or text.
        let kind: String
    }

    /// The number of the state of the rows; it grows with each change.
    let state: Int
    let columns: [Column]
    let hasSections: Bool
    let count: Int
    let sectionCount: Int
}

struct RowsMessage: Encodable {
    struct Row: Encodable {
        let id: String
        /// The index of the row's section.
        let section: Int
        /// The row's index in its section.
        let sectionRow: Int
        /// The section's name; nil for the section of null.
        let sectionName: String?
        let values: [String?]
    }

    let rows: [Row]
}

struct SectionsMessage: Encodable {
    struct Section: Encodable {
        /// The section's name; nil for the section of null.
        let name: String?
        let count: Int
        let rowsBefore: Int
    }

    let sections: [Section]
}

struct PlaceMessage: Encodable {
    private enum Keys: CodingKey { case row }

    /// The row of the object; JSON's null if the object has no row.
    let row: Int?

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(row, forKey: .row)
    }
}

struct SearchMessage: Encodable {
    struct Match: Encodable {
        let id: String
        let number: Int
        let values: [String?]
    }

    let matches: [Match]
    /// The row at which the next request continues the search.
    let next: Int
    let count: Int
    let state: Int
}

struct ErrorMessage: Encodable {
    let error: String
}

/// An event: how the rows of a cache changed.
struct RowsEvent: Encodable, Sendable {
    let cache: String
    /// Whether the page must read everything again.
    var isReset = false
    var state = 0
    var count = 0
    var sectionCount = 0
    /// Pairs of a row's id and "inserted", "updated", "moved" or "deleted", for a limited number of rows.
    var rows: [[String]] = []
    /// Whether the positions of rows may have changed.
    var shifts = false
    var sentence = ""
}

/// An event: the caches that changed or were removed.
struct CachesEvent: Encodable, Sendable {
    struct Cache: Encodable, Sendable {
        let name: String
        let shownName: String
        let state: String
        let style: String
    }

    let caches: [Cache]
    var removed: [String] = []
    /// Whether `caches` are all caches of the store.
    var isWhole = false
}

struct ProblemEvent: Encodable, Sendable {
    /// The description of the problem; nil without a problem.
    let sentence: String?
}

struct StoreEvent: Encodable, Sendable {}
