internal import CountedTree
internal import Records

/// An object's old and new row in an order; nil when it was or is no member.
struct RowEdit {
    let object: ObjectID
    let old: RowKey?
    let new: RowKey?
    /// Whether the record changed; else the row is reported only if it has to move.
    let isUpdated: Bool

    init(object: ObjectID, old: RowKey?, new: RowKey?, isUpdated: Bool = true) {
        self.object = object
        self.old = old
        self.new = new
        self.isUpdated = isUpdated
    }
}

/// Where edited rows and their sections stood and stand.
struct EditedPlaces {
    /// By the sections' values.
    var oldSections: [[UInt8]: SectionPlace] = [:]
    var newSections: [[UInt8]: SectionPlace] = [:]
    /// Ranks in the rows tree, in the order of the edits; nil where an edit has no such row.
    var oldRanks: [Int?]
    var newRanks: [Int?]

    init(_ edits: [RowEdit]) {
        oldRanks = Array(repeating: nil, count: edits.count)
        newRanks = oldRanks
    }

    /// The sections that rows of edits stood or stand in.
    static func sections(of edits: [RowEdit]) -> Set<[UInt8]> {
        Set(edits.compactMap { $0.old?.section }).union(edits.compactMap { $0.new?.section })
    }
}

extension SectionedOrder {
    /// Brings the order from objects' old rows to their new ones, and says where those rows and their sections stood
    /// and stand. O(k log n).
    @discardableResult
    mutating func update(_ edits: [RowEdit]) throws -> EditedPlaces {
        var places = EditedPlaces(edits)
        // Also of rows that stay: their sections may come to stand elsewhere.
        let touched = EditedPlaces.sections(of: edits)
        for section in touched { places.oldSections[section] = try place(of: section) }
        try updateRows(edits, &places)
        guard edits.contains(where: { $0.old != $0.new }) else {
            places.newSections = places.oldSections
            return places
        }
        if shape.hasSections {
            try updateSections(touched, edits, &places)
        } else {
            places.newSections[[]] = try place(of: [])
        }
        guard !shape.hasSections || sections.weight == rows.count else {
            throw Self.corrupted("the sections do not count the rows")
        }
        return places
    }

    private mutating func updateRows(_ edits: [RowEdit], _ places: inout EditedPlaces) throws {
        var changes: [(key: RowKey, edit: Int, change: TreeEdit.Change)] = []
        changes.reserveCapacity(2 * edits.count)
        for (index, edit) in edits.enumerated() {
            if let key = edit.old, key == edit.new {
                changes.append((key, index, .find))
            } else {
                if let old = edit.old { changes.append((old, index, .remove)) }
                if let new = edit.new { changes.append((new, index, .insert())) }
            }
        }
        let order = sortedIndexes(of: changes.map(\.key.bytes))
        let outcomes = try rows.apply(order.map { TreeEdit(changes[$0].key.bytes, changes[$0].change) })
        for (index, outcome) in zip(order, outcomes) {
            let (_, edit, change) = changes[index]
            guard outcome.wasPresent == (change != .insert()) else {
                throw Self.corrupted(
                    outcome.wasPresent ? "a row is there already" : "a row that should be there is missing")
            }
            if change != .insert() { places.oldRanks[edit] = outcome.oldRank }
            if change != .remove { places.newRanks[edit] = outcome.newRank }
        }
    }

    /// Brings the sections' entries up to their rows.
    private mutating func updateSections(
        _ touched: Set<[UInt8]>, _ edits: [RowEdit], _ places: inout EditedPlaces
    ) throws {
        var counts = places.oldSections.mapValues(\.count)
        for edit in edits where edit.old != edit.new {
            if let old = edit.old { counts[old.section, default: 0] -= 1 }
            if let new = edit.new { counts[new.section, default: 0] += 1 }
        }
        var changes: [(section: [UInt8], edit: TreeEdit)] = []
        for section in touched {
            let old = places.oldSections[section]
            let count = counts[section] ?? 0
            let first = try firstRow(of: section)
            guard (first == nil) == (count == 0), count >= 0 else {
                throw Self.corrupted("a section's count does not agree with its rows")
            }
            let key = first.map { shape.sectionKey(value: section, firstRow: $0.remainder, count: count) }
            if let key, key == old?.key {
                changes.append((section, TreeEdit(key, count == old?.count ? .find : .setWeight(count))))
            } else {
                if let old { changes.append((section, TreeEdit(old.key, .remove))) }
                if let key { changes.append((section, TreeEdit(key, .insert(weight: count)))) }
            }
            if let key, let first {
                places.newSections[section] = SectionPlace(index: 0, firstRank: first.rank, count: count, key: key)
            }
        }
        changes.sort { $0.edit.key.span.bytes.compare($1.edit.key.span.bytes) < 0 }
        let outcomes = try sections.apply(changes.map(\.edit))
        for ((section, edit), outcome) in zip(changes, outcomes) {
            var isInsert = false
            if case .insert = edit.change { isInsert = true }
            guard outcome.wasPresent != isInsert else {
                throw Self.corrupted(
                    isInsert
                        ? "a section without rows is among the sections"
                        : "a section with rows is not among the sections")
            }
            if edit.change != .remove { places.newSections[section]?.index = outcome.newRank }
        }
    }
}

/// The indexes of keys in ascending order of the keys, which are compared where they lie together.
private func sortedIndexes(of keys: [[UInt8]]) -> [Int] {
    var arena: [UInt8] = []
    var places: [(start: Int, count: Int, index: Int)] = []
    places.reserveCapacity(keys.count)
    for (index, key) in keys.enumerated() {
        places.append((arena.count, key.count, index))
        arena.append(contentsOf: key)
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
