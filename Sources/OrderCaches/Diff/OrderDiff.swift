internal import FetchIndexPlatform
internal import FetchIndexModels

/// Computes the change between two states of an order from the changed objects. O(k log n) for k objects.
struct OrderDiff {
    private let hasSections: Bool
    private let oldSectionCount: Int
    private let places: ChangedPlaces
    /// Returns the name of a section by its index in the new state. Called for a section that moves although it didn't
    /// change itself.
    private let sectionName: (Int) throws -> String?
    /// Returns the object of a row by its rank in the old rows tree. Called for a row that moves although it didn't
    /// change itself.
    private let oldObject: (Int) throws -> RecordKey

    /// The changed rows of a section.
    private struct SectionEdits {
        /// The old indexes of rows that were deleted, or moved to another section.
        var left: [Int] = []
        /// The new indexes of rows that were inserted, or moved here from another section.
        var came: [Int] = []
        /// The rows that stay in the section with another row key.
        var changed: [StayingRow] = []
        /// The changed rows that keep their row keys.
        var updated: [StayingRow] = []
    }

    private struct StayingRow {
        let object: RecordKey
        let old: Int
        let new: Int
        let isUpdated: Bool
    }

    /// Computes the change from one state to another. The row changes must contain each object whose row changed
    /// between the states, or whose update is to be reported. `places` are the old and new positions of their rows and
    /// sections, as `update` returned them.
    static func change(
        from old: SectionedOrder, to new: SectionedOrder, _ rowChanges: [RowChange], _ places: ChangedPlaces
    ) throws -> OrderChange<RecordKey> {
        try OrderDiff(from: old, to: new, places).change(rowChanges)
    }

    private init(from old: SectionedOrder, to new: SectionedOrder, _ places: ChangedPlaces) {
        (hasSections, oldSectionCount, self.places) = (new.shape.hasSections, old.sectionCount, places)
        sectionName = Self.sectionName(of: new)
        oldObject = { try old.object(atRank: $0) }
    }

    /// For a comparison, which finds the events of rows itself.
    init(to new: SectionedOrder, oldSectionCount: Int, _ places: ChangedPlaces) {
        (hasSections, self.oldSectionCount, self.places) = (new.shape.hasSections, oldSectionCount, places)
        sectionName = Self.sectionName(of: new)
        oldObject = { _ in throw SectionedOrder.corrupted("a row that did not change moved") }
    }

    private static func sectionName(of new: SectionedOrder) -> (Int) throws -> String? {
        { index in
            let section = try new.section(at: index)
            return section.isNull ? nil : section.name
        }
    }

    /// For two lists of sections and rows, each of which counts as changed.
    private init(hasSections: Bool, oldSectionCount: Int, _ places: ChangedPlaces) {
        (self.hasSections, self.oldSectionCount, self.places) = (hasSections, oldSectionCount, places)
        sectionName = { _ in throw SectionedOrder.corrupted("a section that did not change moved") }
        oldObject = { _ in throw SectionedOrder.corrupted("a row that did not change moved") }
    }

    /// Computes the change between two lists of sections and rows. The row changes must contain each row of both lists,
    /// and `places` each section.
    static func change(hasSections: Bool, oldSectionCount: Int, _ rowChanges: [RowChange], _ places: ChangedPlaces)
        throws -> OrderChange<RecordKey>
    {
        try OrderDiff(hasSections: hasSections, oldSectionCount: oldSectionCount, places).change(rowChanges)
    }

    /// Computes the change between two states. Looks up the positions of the changed rows and sections in both.
    static func change(from old: SectionedOrder, to new: SectionedOrder, _ edits: OrderEdits) throws -> OrderChange<
        RecordKey
    > {
        let keys = ChangedKeys(edits)
        var places = ChangedPlaces(keys, count: edits.rows.count)
        for (number, section) in keys.sections.enumerated() {
            places.oldSections[number] = try old.place(of: edits.temporaryValues[section] ?? section)
            places.newSections[number] = try new.place(of: section)
        }
        for (index, rowChange) in edits.rows.enumerated() {
            places.oldRows[index]?.rank = try rowChange.old.flatMap {
                try old.rank(of: edits.temporaryValues.isEmpty ? $0 : edits.inOldSection($0))
            }
            places.newRows[index]?.rank = try rowChange.new.flatMap { try new.rank(of: $0) }
        }
        return try change(from: old, to: new, edits.rows, places)
    }

    private func change(_ rowChanges: [RowChange]) throws -> OrderChange<RecordKey> {
        var change = OrderChange<RecordKey>()
        if hasSections { try addSectionEvents(to: &change) }
        change.rows = OrderChange.RowEvents(try rowEvents(rowChanges))
        return change
    }

    // MARK: Sections

    func addSectionEvents(to change: inout OrderChange<RecordKey>) throws {
        var deleted: [(Int, String?)] = []
        var inserted: [(Int, String?)] = []
        var changed: [FewestMoves.Changed] = []
        var names: [Int: String?] = [:]
        var renamed: [(old: Int, new: Int, name: String?)] = []
        for (number, section) in places.sections.enumerated() {
            switch (places.oldSections[number], places.newSections[number]) {
            case (let old?, nil): deleted.append((old.index, name(of: section, old)))
            case (nil, let new?): inserted.append((new.index, name(of: section, new)))
            case (let old?, let new?) where old.key != new.key:
                changed.append(FewestMoves.Changed(old: old.index, new: new.index))
                let name = name(of: section, new)
                names[new.index] = name
                if old.headedName != new.headedName { renamed.append((old.index, new.index, name)) }
            default: break
            }
        }
        // Sorted, so that equal states give events in the same order.
        changed.sort { $0.new < $1.new }
        deleted.sort { $0.0 < $1.0 }
        inserted.sort { $0.0 < $1.0 }
        for (from, name) in deleted { change.add(name) { .delete(from: from, name: $0) } }
        for (to, name) in inserted { change.add(name) { .insert(to: to, name: $0) } }
        let moves = try Self.moves(changed, oldCount: oldSectionCount, left: deleted.map(\.0), came: inserted.map(\.0))
        for move in moves.sorted(by: { $0.new < $1.new }) {
            let name = if let known = names[move.new] { known } else { try sectionName(move.new) }
            change.add(name) { .move(from: move.old, to: move.new, name: $0) }
        }
        if !renamed.isEmpty {
            let moved = Set(moves.map(\.new))
            for section in renamed.sorted(by: { $0.new < $1.new }) where !moved.contains(section.new) {
                change.add(section.name) { .update(from: section.old, to: section.new, name: $0) }
            }
        }
    }

    /// The name of a section; nil for the null section.
    private func name(of section: [UInt8], _ place: SectionPlace) -> String? {
        if OrderShape.isNull(section.span.bytes) { return nil }
        let name = place.heading ?? section
        return OrderShape.name(of: name.span.bytes)
    }

    /// All items that move, changed or not, with their old and new positions.
    private static func moves(
        _ changed: [FewestMoves.Changed], oldCount: Int, left: [Int], came: [Int]
    ) throws -> [FewestMoves.Changed] {
        if changed.isEmpty { return [] }
        let staying = oldCount - left.count
        guard changed.count <= staying, oldCount < 1 << 31, changed.allSatisfy({ (0..<oldCount).contains($0.old) })
        else {
            throw SectionedOrder.corrupted("the changes do not agree with the counts of sections or rows")
        }
        if changed.count == 1, let only = changed.first {
            // A single changed item moves only if the number of unchanged items before it has changed.
            let before = only.old - left.count { $0 < only.old }
            return only.new - came.count { $0 < only.new } == before ? [] : changed
        }
        let result = FewestMoves.find(changed, oldCount: oldCount, oldLeft: left, newCame: came)
        var moves = result.movedChanged.map { changed[$0] }
        let oldOthers = (left + changed.map(\.old)).sorted()
        let newOthers = (came + changed.map(\.new)).sorted()
        for ordinal in result.movedUnchanged.joined() {
            moves.append(
                FewestMoves.Changed(
                    old: FewestMoves.position(ofOther: ordinal, without: oldOthers),
                    new: FewestMoves.position(ofOther: ordinal, without: newOthers)))
        }
        return moves
    }

    // MARK: Rows

    private func rowEvents(_ rowChanges: [RowChange]) throws -> [OrderChange<RecordKey>.RowEvent] {
        var events = RowEvents()
        var sections = Array(places.sections.count, copiesOf: SectionEdits())
        for (index, rowChange) in rowChanges.enumerated() {
            let (oldRow, newRow) = (places.oldRows[index], places.newRows[index])
            let from = try path(of: oldRow, places.oldSections)
            let to = try path(of: newRow, places.newSections)
            if let oldRow, let newRow, let from, let to {
                if oldRow.section == newRow.section {
                    let row = StayingRow(
                        object: rowChange.object, old: from.row, new: to.row, isUpdated: rowChange.isUpdated)
                    if rowChange.keepsKey {
                        sections[newRow.section].updated.append(row)
                    } else {
                        sections[newRow.section].changed.append(row)
                    }
                    continue
                }
                events.moves.append((rowChange.object, from, to))
            } else if let from {
                events.deletes.append((rowChange.object, from))
            } else if let to {
                events.inserts.append((rowChange.object, to))
            }
            if let oldRow, let from { sections[oldRow.section].left.append(from.row) }
            if let newRow, let to { sections[newRow.section].came.append(to.row) }
        }
        for (number, edits) in sections.enumerated() {
            guard let oldPlace = places.oldSections[number], let newPlace = places.newSections[number] else {
                continue
            }
            try addEvents(of: edits, from: oldPlace, to: newPlace, &events)
        }
        return events.inOrder()
    }

    private func path(of row: ChangedPlaces.Row?, _ sections: [SectionPlace?]) throws -> RowPath? {
        guard let row else { return nil }
        guard let rank = row.rank, let place = sections[row.section] else {
            throw SectionedOrder.corrupted("a row that should be there is missing")
        }
        // If nodes are damaged, a section's count may differ from the number of its rows.
        guard (0..<place.count).contains(rank - place.firstRank) else {
            throw SectionedOrder.corrupted("a section's count does not agree with its rows")
        }
        return RowPath(section: place.index, row: rank - place.firstRank)
    }

    /// Adds move and update events of the rows that stayed in a section.
    private func addEvents(
        of edits: SectionEdits, from oldPlace: SectionPlace, to newPlace: SectionPlace, _ events: inout RowEvents
    ) throws {
        // Sorted, so that equal states give events in the same order.
        var changed = edits.changed.map { FewestMoves.Changed(old: $0.old, new: $0.new) }
        changed.sort { $0.new < $1.new }
        let moves = try Self.moves(
            changed, oldCount: oldPlace.count, left: edits.left.sorted(), came: edits.came.sorted())
        var moved = Dictionary(moves.map { ($0.old, $0.new) }) { first, _ in first }
        func path(_ place: SectionPlace, _ row: Int) -> RowPath { RowPath(section: place.index, row: row) }
        func addEvent(of row: StayingRow) {
            let from = path(oldPlace, row.old)
            let to = path(newPlace, row.new)
            if moved.removeValue(forKey: row.old) != nil {
                events.moves.append((row.object, from, to))
            } else if row.isUpdated {
                events.updates.append((row.object, from, to))
            }
        }
        for row in edits.changed { addEvent(of: row) }
        for row in edits.updated { addEvent(of: row) }
        // The remaining moves are of unchanged rows, if moving these takes fewer moves than moving the changed rows.
        for (oldRow, newRow) in moved {
            let object = try oldObject(oldPlace.firstRank + oldRow)
            events.moves.append((object, path(oldPlace, oldRow), path(newPlace, newRow)))
        }
    }
}

/// The events of rows by kind, before each kind is sorted.
private struct RowEvents {
    var deletes: [(object: RecordKey, from: RowPath)] = []
    var inserts: [(object: RecordKey, to: RowPath)] = []
    var moves: [(object: RecordKey, from: RowPath, to: RowPath)] = []
    var updates: [(object: RecordKey, from: RowPath, to: RowPath)] = []

    consuming func inOrder() -> [OrderChange<RecordKey>.RowEvent] {
        deletes.sort { $0.from < $1.from }
        inserts.sort { $0.to < $1.to }
        moves.sort { $0.to < $1.to }
        updates.sort { $0.to < $1.to }
        var events: [OrderChange<RecordKey>.RowEvent] = []
        events.reserveCapacity(deletes.count + inserts.count + moves.count + updates.count)
        for row in deletes { events.append(.delete(row.object, from: row.from)) }
        for row in inserts { events.append(.insert(row.object, to: row.to)) }
        for row in moves { events.append(.move(row.object, from: row.from, to: row.to)) }
        for row in updates { events.append(.update(row.object, from: row.from, to: row.to)) }
        return events
    }
}
