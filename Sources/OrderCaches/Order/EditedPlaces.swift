internal import CountedTree
internal import Records

/// An object's old and new row in an order; nil when it was or is no member.
struct RowEdit {
    let object: RecordKey
    let old: RowKey?
    let new: RowKey?
    /// Whether the row's key stays.
    let keepsPlace: Bool
    /// Whether the record changed; else the row is reported only if it has to move.
    let isUpdated: Bool

    init(object: RecordKey, old: RowKey?, new: RowKey?, isUpdated: Bool = true) {
        self.object = object
        self.old = old
        self.new = new
        self.keepsPlace = old == new
        self.isUpdated = isUpdated
    }
}

/// Where edited rows and their sections stood and stand. Sections go by numbers here, so that a thousand edits do not
/// look up a thousand values.
struct EditedPlaces {
    /// A row that an edit takes, gives or keeps.
    struct Row {
        /// The number of its section.
        let section: Int
        /// In the rows tree; nil where there is no such row.
        var rank: Int?
    }

    /// The values of the sections that rows of edits stood or stand in.
    let sections: [[UInt8]]
    /// By section number; nil where a section has no rows.
    var oldSections: [SectionPlace?]
    var newSections: [SectionPlace?]
    /// In the order of the edits; nil where an edit has no such row.
    var oldRows: [Row?]
    var newRows: [Row?]

    init(sections: [[UInt8]], oldRows: [Row?], newRows: [Row?]) {
        self.sections = sections
        self.oldRows = oldRows
        self.newRows = newRows
        oldSections = Array(repeating: nil, count: sections.count)
        newSections = oldSections
    }

    /// Of edits whose keys are in order.
    init(_ keys: EditedKeys, count: Int) {
        self.init(
            sections: keys.sections, oldRows: Array(repeating: nil, count: count),
            newRows: Array(repeating: nil, count: count))
        for key in keys.ascending {
            if key.change != .insert() { oldRows[key.edit] = Row(section: key.section) }
            if key.change != .remove { newRows[key.edit] = Row(section: key.section) }
        }
    }
}

/// The keys of edited rows in ascending order, and so the sections they stand in, which are numbered in that order.
struct EditedKeys {
    struct Key {
        let key: RowKey
        /// The edit's index.
        let edit: Int
        let section: Int
        let change: TreeEdit.Change
    }

    private(set) var ascending: [Key] = []
    private(set) var sections: [[UInt8]] = []

    init(_ edits: [RowEdit]) {
        var keys: [(key: RowKey, edit: Int, change: TreeEdit.Change)] = []
        keys.reserveCapacity(2 * edits.count)
        for (index, edit) in edits.enumerated() {
            if edit.keepsPlace {
                if let key = edit.old { keys.append((key, index, .find)) }
            } else {
                if let old = edit.old { keys.append((old, index, .remove)) }
                if let new = edit.new { keys.append((new, index, .insert())) }
            }
        }
        ascending.reserveCapacity(keys.count)
        for index in Self.order(of: keys.map(\.key)) {
            let (key, edit, change) = keys[index]
            // Rows of a section are neighbours, as in the tree.
            if ascending.isEmpty || !key.hasSection(of: ascending[ascending.count - 1].key) {
                sections.append(key.section)
            }
            ascending.append(Key(key: key, edit: edit, section: sections.count - 1, change: change))
        }
    }

    /// The indexes of keys in ascending order of the keys, which are compared where they lie together.
    private static func order(of keys: [RowKey]) -> [Int] {
        if keys.count < 2 { return Array(keys.indices) }
        var arena: [UInt8] = []
        var places: [(start: Int, count: Int, index: Int)] = []
        places.reserveCapacity(keys.count)
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
