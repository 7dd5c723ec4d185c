internal import FetchIndexPlatform
internal import FetchIndexCountedTree

extension SectionedOrder {
    /// Applies changes of rows and headings. Returns the old and new positions of these rows, of their sections, and of
    /// the other sections that the edits contain. O(k log n) for k changes.
    @discardableResult
    mutating func update(_ edits: OrderEdits) throws -> ChangedPlaces {
        let keys = ChangedKeys(edits)
        var places = ChangedPlaces(keys, count: edits.rows.count)
        // The sections of rows that keep their keys are looked up, too, because they may move.
        var knownRanks: [Int?] = Array(keys.sections.count, copiesOf: nil)
        for (number, section) in keys.sections.enumerated() {
            (places.oldSections[number], knownRanks[number]) = try entry(of: section)
        }
        let firstRanks = try updateRows(keys, &places, knownRanks)
        for (number, ranks) in firstRanks.enumerated() { places.oldSections[number]?.firstRank = ranks.old }
        if edits.changesNothing {
            places.newSections = places.oldSections
            return places
        }
        if shape.hasSections {
            try updateSections(keys, edits.headings, firstRanks.map(\.new), &places)
            try updateHeadings(keys.sections, places)
        } else {
            for number in keys.sections.indices { places.newSections[number] = try place(of: []) }
        }
        guard !shape.hasSections || sections.weight == rows.count else {
            throw Self.corrupted("the sections do not count the rows")
        }
        return places
    }

    /// Updates the rows tree. Returns the old and new rank of each section's first row. An unknown rank is found by
    /// looking up the section's value, which is less than the keys of the section's rows and greater than the keys of
    /// all rows before them.
    private mutating func updateRows(
        _ keys: ChangedKeys, _ places: inout ChangedPlaces, _ knownRanks: [Int?]
    ) throws -> [(old: Int, new: Int)] {
        var firstRanks = Array(keys.sections.count, copiesOf: (old: 0, new: 0))
        for number in keys.sectionsOfRows..<keys.sections.count {
            firstRanks[number].old = try firstRank(of: keys.sections[number])
        }
        let outcomes = try rows.apply(rowEdits(keys, knownRanks))
        for number in keys.sectionsOfRows..<keys.sections.count {
            firstRanks[number].new = try firstRank(of: keys.sections[number])
        }
        var (next, asked) = (0, 0)
        // The number of rows inserted minus the number of rows removed, among the keys so far.
        var added = 0
        for key in keys.ascending {
            if shape.hasSections, key.section == asked {
                if let old = knownRanks[asked] {
                    firstRanks[asked] = (old, old + added)
                } else {
                    firstRanks[asked] = (outcomes[next].oldRank, outcomes[next].newRank)
                    next += 1
                }
                asked += 1
            }
            if key.change.isInsert { added += 1 }
            if key.change.isRemove { added -= 1 }
            let outcome = outcomes[next]
            next += 1
            guard outcome.wasPresent == !key.change.isInsert else {
                throw Self.corrupted(
                    outcome.wasPresent ? "an inserted row is already there" : "an expected row is missing")
            }
            if outcome.wasPresent { places.oldRows[key.rowChange]?.rank = outcome.oldRank }
            if !key.change.isRemove { places.newRows[key.rowChange]?.rank = outcome.newRank }
        }
        return firstRanks
    }

    /// The edits of the rows tree: an edit for each key, and before the keys of a section whose first rank is unknown
    /// one that looks its value up.
    private func rowEdits(_ keys: ChangedKeys, _ knownRanks: [Int?]) -> [TreeEdit] {
        var edits: [TreeEdit] = []
        edits.reserveCapacity(keys.ascending.count + keys.sections.count)
        var asked = 0
        for key in keys.ascending {
            if shape.hasSections, key.section == asked {
                if knownRanks[asked] == nil { edits.append(TreeEdit(keys.sections[asked], .find)) }
                asked += 1
            }
            edits.append(TreeEdit(key.key.bytes, key.change, summary: key.key.summary))
        }
        return edits
    }

    /// Updates the entries of the sections tree, after the rows tree was updated.
    private mutating func updateSections(
        _ keys: ChangedKeys, _ headings: [[UInt8]: [UInt8]], _ firstRanks: [Int], _ places: inout ChangedPlaces
    ) throws {
        var counts = places.oldSections.map { $0?.count ?? 0 }
        // For each section, whether rows changed, so that its summary may change, too.
        var hasChanges = shape.aggregates.isEmpty ? [] : Array(counts.count, copiesOf: false)
        for key in keys.ascending {
            if !shape.aggregates.isEmpty, !key.change.isFind { hasChanges[key.section] = true }
            if key.change.isInsert { counts[key.section] += 1 }
            if key.change.isRemove { counts[key.section] -= 1 }
        }
        var sums = SectionSums(of: keys, shape)
        var changes: [(section: Int, edit: TreeEdit)] = []
        for (number, count) in counts.enumerated() {
            let old = places.oldSections[number]
            let heading = headings[keys.sections[number]] ?? old?.heading
            if shape.hasHeadings && heading == nil && count > 0 {
                throw Self.corrupted("a section with rows has no heading")
            }
            let key = try newKey(of: keys.sections[number], heading, count: count, old)
            if let key, key == old?.key, count == old?.count, shape.aggregates.isEmpty || !hasChanges[number] {
                changes.append((number, TreeEdit(key, .find)))
            } else {
                let summary = try sums.next(number, old?.summary) {
                    try self.summary(ofRanks: firstRanks[number]..<firstRanks[number] + count)
                }
                if let key, key == old?.key {
                    changes.append((number, TreeEdit(key, .update(weight: count), summary: summary)))
                } else {
                    if let old { changes.append((number, TreeEdit(old.key, .remove))) }
                    if let key { changes.append((number, TreeEdit(key, .insert(weight: count), summary: summary))) }
                }
            }
            if let key {
                places.newSections[number] = SectionPlace(
                    index: old?.index ?? 0, firstRank: firstRanks[number], count: count, key: key, heading: heading)
            }
        }
        try applySectionEdits(changes, &places)
    }

    private mutating func applySectionEdits(
        _ changes: [(section: Int, edit: TreeEdit)], _ places: inout ChangedPlaces
    ) throws {
        // If no entry changes, sections don't move either.
        if changes.allSatisfy({ $0.edit.change.isFind }) { return }
        let changes = changes.sorted { $0.edit.key.span.bytes.compare($1.edit.key.span.bytes) < 0 }
        let outcomes = try sections.apply(changes.map(\.edit))
        for ((section, edit), outcome) in zip(changes, outcomes) {
            let isInsert = edit.change.isInsert
            guard outcome.wasPresent != isInsert else {
                throw Self.corrupted(
                    isInsert
                        ? "a section without rows is among the sections"
                        : "a section with rows is not among the sections")
            }
            if !edit.change.isRemove { places.newSections[section]?.index = outcome.newRank }
        }
    }

    /// The new key of a section in the sections tree, after its rows were updated; nil if it has no rows.
    private func newKey(
        of section: [UInt8], _ heading: [UInt8]?, count: Int, _ old: SectionPlace?
    ) throws -> [UInt8]? {
        guard count >= 0 else { throw Self.corrupted("a section's count does not agree with its rows") }
        guard shape.needsRows else {
            if count == 0 { return nil }
            if let old, old.heading == heading { return old.key }
            return shape.sectionKey(value: section, heading, firstRow: [], count: count)
        }
        let first = try firstRow(of: section)
        guard (first == nil) == (count == 0) else {
            throw Self.corrupted("a section's count does not agree with its rows")
        }
        return first.map { shape.sectionKey(value: section, heading, firstRow: $0.remainder, count: count) }
    }

    private mutating func updateHeadings(_ sections: [[UInt8]], _ places: ChangedPlaces) throws {
        if !shape.hasHeadings { return }
        var edits: [TreeEdit] = []
        for (number, section) in sections.enumerated() {
            let (old, new) = (places.oldSections[number]?.heading, places.newSections[number]?.heading)
            if old == new { continue }
            if let old { edits.append(TreeEdit(section + old, .remove)) }
            if let new { edits.append(TreeEdit(section + new, .insert())) }
        }
        edits.sort { $0.key.span.bytes.compare($1.key.span.bytes) < 0 }
        for (edit, outcome) in zip(edits, try headings.apply(edits))
        where outcome.wasPresent != edit.change.isRemove {
            throw Self.corrupted("the headings are not those of the sections")
        }
    }
}
