internal import FetchIndexPlatform
internal import FetchIndexCountedTree

/// The old and new positions of changed rows and of their sections. Sections are numbered here, so that a thousand
/// changes don't look up a thousand values.
struct ChangedPlaces {
    /// A row that a change removes, inserts or keeps.
    struct Row {
        /// The number of its section.
        let section: Int
        /// The rank in the rows tree; nil if the row isn't in it.
        var rank: Int?
    }

    /// The old and new section values of the changed rows.
    let sections: [[UInt8]]
    /// The places by section number; nil if a section has no rows.
    var oldSections: [SectionPlace?]
    var newSections: [SectionPlace?]
    /// The rows in the order of the changes; nil if a change has no old or new row.
    var oldRows: [Row?]
    var newRows: [Row?]
    /// The keys of the changes, while the ranks of rows that keep their keys are postponed.
    var postponed: ChangedKeys?

    init(sections: [[UInt8]], oldRows: [Row?], newRows: [Row?]) {
        self.sections = sections
        self.oldRows = oldRows
        self.newRows = newRows
        oldSections = Array(sections.count, copiesOf: nil)
        newSections = oldSections
    }

    /// The places of changes with sorted keys; their ranks are not set yet.
    init(_ keys: ChangedKeys, count: Int) {
        self.init(
            sections: keys.sections, oldRows: Array(count, copiesOf: nil), newRows: Array(count, copiesOf: nil))
        for key in keys.ascending {
            if !key.change.isInsert { oldRows[key.rowChange] = Row(section: key.section) }
            if !key.change.isRemove { newRows[key.rowChange] = Row(section: key.section) }
        }
    }
}

/// The keys of changed rows in ascending order, and their sections, which are numbered in that order.
struct ChangedKeys {
    struct Key {
        let key: RowKey
        /// The change's index.
        let rowChange: Int
        let section: Int
        let change: TreeEdit.Change
        /// The old summary of a row that keeps its key; empty for other rows.
        let oldSummary: [UInt8]
    }

    private(set) var ascending: [Key] = []
    private(set) var sections: [[UInt8]] = []
    /// The number of sections that have changed rows; they come first. The others have only changed headings or values.
    private(set) var sectionsOfRows = 0

    init(_ edits: OrderEdits) {
        self.init(edits.rows)
        sectionsOfRows = sections.count
        if edits.headings.isEmpty && edits.temporaryValues.isEmpty { return }
        // A deterministic order, so that equal states give equal nodes.
        sections += Set(edits.headings.keys).union(edits.temporaryValues.keys).subtracting(sections)
            .sorted { $0.span.bytes.compare($1.span.bytes) < 0 }
    }

    private init(_ rowChanges: [RowChange]) {
        var keys: [(key: RowKey, rowChange: Int, change: TreeEdit.Change)] = []
        keys.reserveCapacity(2 * rowChanges.count)
        for (index, rowChange) in rowChanges.enumerated() {
            if rowChange.keepsKey {
                if let key = rowChange.new { keys.append((key, index, rowChange.changesOrder ? .update() : .find)) }
            } else {
                if let old = rowChange.old { keys.append((old, index, .remove)) }
                if let new = rowChange.new { keys.append((new, index, .insert())) }
            }
        }
        ascending.reserveCapacity(keys.count)
        for index in Self.order(of: keys.map(\.key)) {
            let (key, rowChange, change) = keys[index]
            // Rows of a section are adjacent, as in the tree.
            if ascending.isEmpty || !key.isInSection(of: ascending[ascending.count - 1].key) {
                sections.append(key.section)
            }
            let old = rowChanges[rowChange]
            ascending.append(
                Key(
                    key: key, rowChange: rowChange, section: sections.count - 1, change: change,
                    oldSummary: old.keepsKey ? old.old?.summary ?? [] : []))
        }
    }

    /// The indexes of keys in ascending order of the keys, which are copied into one buffer to be compared.
    private static func order(of keys: [RowKey]) -> [Int] {
        if keys.count < 2 { return Array(keys.indices) }
        var arena: [UInt8] = []
        var places: [(start: Int, count: Int, index: Int)] = []
        places.reserveCapacity(keys.count)
        arena.reserveCapacity(keys.reduce(0) { $0 + $1.bytes.count })
        for (index, key) in keys.enumerated() {
            places.append((arena.count, key.bytes.count, index))
            arena.append(contentsOf: key.bytes)
        }
        arena.withUnsafeBytes { arena in
            places.sort { left, right in
                let one = UnsafeRawBufferPointer(rebasing: arena[left.start..<left.start + left.count])
                let other = UnsafeRawBufferPointer(rebasing: arena[right.start..<right.start + right.count])
                return one.bytes.compare(other.bytes) < 0
            }
        }
        return places.map(\.index)
    }
}

// Replaces `==`, which is looked up at run time because it belongs to another module (a profile showed it).
extension TreeEdit.Change {
    var isInsert: Bool { if case .insert = self { true } else { false } }
    var isRemove: Bool { if case .remove = self { true } else { false } }
    var isFind: Bool { if case .find = self { true } else { false } }
}
