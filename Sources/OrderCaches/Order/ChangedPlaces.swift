internal import FetchIndexPlatform
internal import FetchIndexCountedTree

/// The old and new positions of changed rows and of their sections, in the trees or in the lists of two windows. The
/// sections are numbered, so that lookups of a section aren't repeated for each of its rows.
struct ChangedPlaces {
    /// A row that a change removes, inserts or keeps.
    struct Row {
        /// The number of the row's section.
        let section: Int
        /// The row's rank in the rows tree, or its index in a window's list; nil if it isn't known yet, or if the row
        /// is missing because of damage.
        var rank: Int?
    }

    /// The section values, by section number.
    let sections: [[UInt8]]
    /// The positions of the sections before the change, by section number; nil if a section didn't exist.
    var oldSections: [SectionPlace?]
    /// The positions of the sections after the change, by section number; nil if a section doesn't exist any more.
    var newSections: [SectionPlace?]
    /// The rows before the change, by the index of the row change; nil for an inserted row.
    var oldRows: [Row?]
    /// The rows after the change, by the index of the row change; nil for a removed row.
    var newRows: [Row?]

    init(sections: [[UInt8]], oldRows: [Row?], newRows: [Row?]) {
        self.sections = sections
        self.oldRows = oldRows
        self.newRows = newRows
        oldSections = Array(sections.count, copiesOf: nil)
        newSections = oldSections
    }

    /// Creates the positions of `count` row changes from their sorted keys. The ranks of the rows aren't set yet.
    init(_ keys: ChangedKeys, count: Int) {
        self.init(
            sections: keys.sections, oldRows: Array(count, copiesOf: nil), newRows: Array(count, copiesOf: nil))
        for key in keys.ascending {
            if !key.change.isInsert { oldRows[key.rowChange] = Row(section: key.section) }
            if !key.change.isRemove { newRows[key.rowChange] = Row(section: key.section) }
        }
    }
}

/// The keys of changed rows in ascending order, and the sections to look up: those of the keys, numbered in this order,
/// and after them the sections without changed rows.
struct ChangedKeys {
    struct Key {
        let key: RowKey
        /// The index of the change to which the key belongs.
        let rowChange: Int
        let section: Int
        let change: TreeEdit.Change
        /// If the row keeps its key, its old summary; otherwise empty.
        let oldSummary: [UInt8]
    }

    private(set) var ascending: [Key] = []
    private(set) var sections: [[UInt8]] = []
    /// The number of sections in which rows changed; they come first in `sections`. The other sections have only
    /// changed headings, or other section values because their objects were saved for the first time.
    private(set) var sectionsOfRows = 0

    init(_ edits: OrderEdits) {
        self.init(edits.rows)
        sectionsOfRows = sections.count
        if edits.headings.isEmpty && edits.temporaryValues.isEmpty { return }
        // Sorted, so that equal edits give the sections equal numbers.
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
            // The rows of a section are adjacent, as in the rows tree.
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

    /// The indexes of the keys in ascending order. The keys are copied into one buffer for comparing them.
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

// These replace `==`. A profile showed that `==` was looked up at run time, because it belongs to another module.
extension TreeEdit.Change {
    var isInsert: Bool { if case .insert = self { true } else { false } }
    var isRemove: Bool { if case .remove = self { true } else { false } }
    var isFind: Bool { if case .find = self { true } else { false } }
}
