internal import CountedTree
internal import Records

extension OrderDiff {
    /// The change from one window to another, of one order or of two. O((rows of both) x log): every row is looked at.
    ///
    /// `updated` names the objects, as the new window has them, whose records changed; `renumbered` gives the ids that
    /// objects of the old window have in the new one, where they differ.
    static func change(
        from old: OrderWindow, to new: OrderWindow, updated: Set<ObjectID>, renumbered: [ObjectID: ObjectID]
    ) throws -> OrderChange {
        let oldList = try WindowList(old)
        let newList = try WindowList(new)
        var edits: [RowEdit] = []
        var ranks: [(old: Int?, new: Int?)] = []
        var newRanks: [ObjectID: Int] = [:]
        for (rank, row) in newList.rows.enumerated() { newRanks[row.object] = rank }
        for (rank, row) in oldList.rows.enumerated() {
            let object = renumbered[row.object] ?? row.object
            let newRank = newRanks.removeValue(forKey: object)
            edits.append(
                RowEdit(
                    object: object, old: RowKey.placeholder(in: row.section, isOld: true),
                    new: newRank.map { RowKey.placeholder(in: newList.rows[$0].section, isOld: false) },
                    isUpdated: updated.contains(object)))
            ranks.append((rank, newRank))
        }
        for (rank, row) in newList.rows.enumerated() where newRanks[row.object] != nil {
            edits.append(
                RowEdit(object: row.object, old: nil, new: RowKey.placeholder(in: row.section, isOld: false)))
            ranks.append((nil, rank))
        }
        var places = EditedPlaces(edits)
        places.oldRanks = ranks.map(\.old)
        places.newRanks = ranks.map(\.new)
        places.oldSections = oldList.places(key: [0])
        places.newSections = newList.places(key: [1])
        return try change(
            hasSections: new.order.shape.hasSections, oldSectionCount: old.sectionCount, edits, places)
    }
}

/// A window read as a list.
private struct WindowList {
    var rows: [(object: ObjectID, section: [UInt8])] = []
    var sections: [(value: [UInt8], count: Int)] = []

    init(_ window: OrderWindow) throws {
        try window.walkSections { section in
            sections.append((section.value, section.count))
            return true
        }
        try window.walkRows { object, path in
            guard path.section < sections.count else {
                throw SectionedOrder.corrupted("the sections count fewer rows than there are")
            }
            rows.append((object, sections[path.section].value))
            return true
        }
    }

    /// Every section's key differs from one list to the other, so that each may move.
    func places(key: [UInt8]) -> [[UInt8]: SectionPlace] {
        var places: [[UInt8]: SectionPlace] = [:]
        var rank = 0
        for (index, section) in sections.enumerated() {
            places[section.value] = SectionPlace(index: index, firstRank: rank, count: section.count, key: key)
            rank += section.count
        }
        return places
    }
}

extension RowKey {
    /// Stands for a row of a list, whose key is not known: it differs from the old list to the new one, so that each
    /// row may move.
    fileprivate static func placeholder(in section: [UInt8], isOld: Bool) -> RowKey {
        RowKey(bytes: section + [isOld ? 0 : 1], sectionLength: section.count)
    }
}
