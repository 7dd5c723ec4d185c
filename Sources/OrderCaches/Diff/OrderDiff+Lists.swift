internal import FetchIndexModels

extension OrderDiff {
    /// Computes the change from one window to another, of the same order or of two orders. Reads every row of both
    /// windows. O(n log n) for n rows of both.
    ///
    /// `updated` are the keys, in the new window, of the objects whose records changed. `renumbered` has the new keys
    /// of objects that have other keys in the old window, by their old keys.
    static func change(
        from old: OrderWindow, to new: OrderWindow, updated: Set<RecordKey>, renumbered: [RecordKey: RecordKey]
    ) throws -> OrderChange<RecordKey> {
        var numbers = SectionNumbers()
        let oldList = try WindowList(old, &numbers, renumbered: renumbered)
        let newList = try WindowList(new, &numbers)
        var rowChanges: [RowChange] = []
        var oldRows: [ChangedPlaces.Row?] = []
        var newRows: [ChangedPlaces.Row?] = []
        var newRanks: [RecordKey: Int] = [:]
        for (rank, row) in newList.rows.enumerated() { newRanks[row.object] = rank }
        for (rank, row) in oldList.rows.enumerated() {
            let object = renumbered[row.object] ?? row.object
            let newRank = newRanks.removeValue(forKey: object)
            rowChanges.append(
                RowChange(
                    object: object, old: .placeholderOld, new: newRank.map { _ in .placeholderNew },
                    isUpdated: updated.contains(object)))
            oldRows.append(ChangedPlaces.Row(section: row.section, rank: rank))
            newRows.append(newRank.map { ChangedPlaces.Row(section: newList.rows[$0].section, rank: $0) })
        }
        for (rank, row) in newList.rows.enumerated() where newRanks[row.object] != nil {
            rowChanges.append(RowChange(object: row.object, old: nil, new: .placeholderNew))
            oldRows.append(nil)
            newRows.append(ChangedPlaces.Row(section: row.section, rank: rank))
        }
        var places = ChangedPlaces(sections: numbers.values, oldRows: oldRows, newRows: newRows)
        oldList.enterSections(into: &places.oldSections, key: [0])
        newList.enterSections(into: &places.newSections, key: [1])
        return try change(
            hasSections: new.order.shape.hasSections, oldSectionCount: old.sectionCount, rowChanges, places)
    }
}

/// Assigns numbers to section values.
private struct SectionNumbers {
    private(set) var values: [[UInt8]] = []
    private var numbers: [[UInt8]: Int] = [:]

    mutating func number(of value: [UInt8]) -> Int {
        if let number = numbers[value] { return number }
        numbers[value] = values.count
        values.append(value)
        return values.count - 1
    }
}

/// The sections and rows of a window, read as a list.
private struct WindowList {
    var rows: [(object: RecordKey, section: Int)] = []
    var sections: [(number: Int, count: Int, heading: [UInt8]?)] = []

    init(
        _ window: OrderWindow, _ numbers: inout SectionNumbers, renumbered: [RecordKey: RecordKey] = [:]
    ) throws {
        try window.walkSections { section in
            let saved = section.object.flatMap { renumbered[$0] }.map(OrderEdits.section(of:))
            sections.append((numbers.number(of: saved ?? section.value), section.count, section.heading))
            return true
        }
        try window.walkRows { object, path in
            guard path.section < sections.count else {
                throw SectionedOrder.corrupted("the sections count fewer rows than there are")
            }
            rows.append((object, sections[path.section].number))
            return true
        }
    }

    /// Enters the list's sections into `places`. The old and the new list pass different keys, so that each section
    /// counts as changed and may move.
    func enterSections(into places: inout [SectionPlace?], key: [UInt8]) {
        var rank = 0
        for (index, section) in sections.enumerated() {
            places[section.number] = SectionPlace(
                index: index, firstRank: rank, count: section.count, key: key, heading: section.heading)
            rank += section.count
        }
    }
}

extension RowKey {
    /// Placeholders for the row keys of the two lists, which are unknown. They differ, so that each row counts as
    /// changed and may move.
    fileprivate static let placeholderOld = RowKey(bytes: [0], sectionLength: 0)
    fileprivate static let placeholderNew = RowKey(bytes: [1], sectionLength: 0)
}
