internal import FetchIndexInspection

// The values that the templates show. The templates escape texts; charts are escaped already.

/// The report of a store.
struct Page {
    let store: StorePart
    let style: String
    let cards: [Card]
    let hasCaches: Bool
}

/// The frame of the live page.
struct LivePage {
    let title: String
    /// Nil if the store cannot be read.
    let store: StorePart?
    let style: String
}

/// The overview of a store.
struct StorePart {
    let title: String
    let facts: [Fact]
    let entities: [EntityRow]
    let file: Figure
    let fileParts: [FilePart]
    let readers: [String]
    let commits: Figure?
}

struct Fact {
    let name: String
    let value: String
}

struct EntityRow {
    let name: String
    let count: String
    let attributes: String
    let relationships: String
}

struct FilePart {
    let name: String
    let size: String
    let style: String
}

/// A chart with the words around it.
struct Figure {
    let title: String
    /// The greatest value in the chart, shown above it.
    var top = ""
    let svg: String
    var left = ""
    var right = ""
    var note = ""
}

/// A cache.
struct Card {
    let name: String
    let anchor: String
    let state: String
    /// The CSS class of the state: good, behind or bad.
    let stateStyle: String
    let facts: [Fact]
    let figures: [Figure]
    let hasLargest: Bool
    let largest: [Fact]
    let hasOpenings: Bool
    let openings: [OpeningRow]
    let olderOpenings: String
    let batch: Batch?
    let verified: Verified?
}

extension Card {
    /// Makes the card of a cache that cannot be read.
    init(name: String, anchor: String, defect: String) {
        self.init(
            name: name, anchor: anchor, state: "cannot be read", stateStyle: "bad", facts: [], figures: [],
            hasLargest: false, largest: [], hasOpenings: false, openings: [], olderOpenings: "", batch: nil,
            verified: Verified(sentence: "it cannot be shown", style: "bad", defects: [defect]))
    }
}

struct OpeningRow {
    let time: String
    let outcome: String
    let style: String
    let rows: String
    let duration: String
    let who: String
}

/// The last change batch: positions of rows and sections before and after it.
struct Batch {
    let summary: String
    let rows: [BatchRow]
    let more: String
}

struct BatchRow {
    let before: String
    let after: String
    let name: String
    let style: String
}

struct Verified {
    let sentence: String
    let style: String
    let defects: [String]
}
