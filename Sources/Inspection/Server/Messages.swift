// What the page's program reads as JSON.

/// What a cache's rows look like.
struct ViewMessage: Encodable {
    struct Column: Encodable {
        let name: String
        /// number, date or text
        let kind: String
    }

    /// A number that grows with each change of what the view shows.
    let state: Int
    let columns: [Column]
    let hasSections: Bool
    let count: Int
    let sectionCount: Int
}

struct RowsMessage: Encodable {
    struct Row: Encodable {
        let id: String
        /// The index of its section, the row's number there, and the section's name; nil for the rows without value.
        let section: Int
        let sectionRow: Int
        let sectionName: String?
        let values: [String?]
    }

    let rows: [Row]
}

struct SectionsMessage: Encodable {
    struct Section: Encodable {
        /// Nil for the rows without value.
        let name: String?
        let count: Int
        let rowsBefore: Int
    }

    let sections: [Section]
}

struct PlaceMessage: Encodable {
    private enum Keys: CodingKey { case row }

    /// Null where the object is in no row.
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
    /// The number of the row where the search goes on.
    let next: Int
    let count: Int
    let state: Int
}

struct ErrorMessage: Encodable {
    let error: String
}

/// How the rows of a cache changed.
struct RowsEvent: Encodable, Sendable {
    let cache: String
    /// Whether everything must be read again.
    var isReset = false
    var state = 0
    var count = 0
    var sectionCount = 0
    /// inserted, updated, moved or deleted, by the row's id; of the first ones.
    var rows: [[String]] = []
    /// Whether rows came, went or moved.
    var shifts = false
    var sentence = ""
}

/// The caches that changed.
struct CachesEvent: Encodable, Sendable {
    struct Cache: Encodable, Sendable {
        let name: String
        let shownName: String
        let state: String
        let style: String
    }

    let caches: [Cache]
    var removed: [String] = []
    /// Whether there are no others.
    var isWhole = false
}

struct ProblemEvent: Encodable, Sendable {
    /// Nil when there is none any more.
    let sentence: String?
}

struct StoreEvent: Encodable, Sendable {}
