internal import FetchIndexPlatform
internal import FetchIndexModels
internal import FetchIndexCountedTree
internal import FetchIndexValues

/// Computes the change between two states of an order by reading all rows of both, side by side. The result is equal to
/// that of `OrderDiff.change`, which costs less if few rows changed.
///
///     merge     both states' rows by key: a key in both is an unchanged row
///     match     the other rows, by object
///     moves     in each section, the rows that don't stay in a longest common order
///     events    the rows of the new state in display order
///
/// O(n + k log k) for n rows of both states, k of them with another key. The memory is up to 32 bytes for each row, and
/// some 4 to 12 bytes for each event, besides the sections.
struct OrderComparison {
    /// In `oldRanks`, a row whose object has no row in the old state.
    private static let none = UInt32.max

    private let old: ComparedRows
    private let new: SectionedOrder
    private let places: ChangedPlaces
    private let oldSections: OldSections
    /// For each row of the new state, by rank, the old rank of its object.
    private var oldRanks: [UInt32]
    /// The rows of the new state whose keys the old state doesn't have, by rank.
    private var changed: BitSet
    /// The rows of the new state that move within their sections, by rank.
    private var moved: BitSet
    private var rows = PackedRowEvents()

    /// The change from one state to another. `findUpdated` returns the raw values of the keys of objects that are in
    /// both states and whose records changed. With two threads, it's called on another thread.
    static func change(
        from old: ComparedRows, to new: SectionedOrder, threads: Int = 1,
        updated findUpdated: () throws -> SparseSet
    ) throws -> OrderChange<RecordKey> {
        guard max(old.rowCount, new.rowCount) < 1 << 31 else {
            throw SectionedOrder.corrupted("it counts more rows than an order can have")
        }
        var comparison = try OrderComparison(old, new)
        var updated = SparseSet()
        try Threads.run(threads) { thread in
            if thread == 0 {
                try comparison.matchRows()
                comparison.findMoves()
            }
            if thread == threads - 1 { updated = try findUpdated() }
        }
        try comparison.addEvents(updated)
        var change = OrderChange<RecordKey>()
        if new.shape.hasSections {
            try OrderDiff(to: new, oldSectionCount: old.sectionCount, comparison.places).addSectionEvents(to: &change)
        }
        change.rows = OrderChange.RowEvents(packed: comparison.rows) { $0 }
        return change
    }

    private init(_ old: ComparedRows, _ new: SectionedOrder) throws {
        (self.old, self.new) = (old, new)
        oldRanks = Array(repeating: Self.none, count: new.rowCount)
        changed = BitSet(count: new.rowCount)
        moved = BitSet(count: new.rowCount)
        let places = try Self.places(old, new)
        self.places = places
        oldSections = OldSections(places.oldSections)
    }

    // MARK: Sections

    /// The places of all sections of both states.
    private static func places(_ old: ComparedRows, _ new: SectionedOrder) throws -> ChangedPlaces {
        let news = try ComparedRows(of: new).sections
        let values = Set(old.sections.keys).union(news.keys).sorted { $0.span.bytes.compare($1.span.bytes) < 0 }
        var places = ChangedPlaces(sections: values, oldRows: [], newRows: [])
        // The rows of the rows tree are in the order of their sections' values.
        var (oldRank, newRank) = (0, 0)
        for (number, value) in values.enumerated() {
            places.oldSections[number] = old.sections[value]?.placed(after: &oldRank)
            places.newSections[number] = news[value]?.placed(after: &newRank)
        }
        guard oldRank == old.rowCount, newRank == new.rowCount else {
            throw SectionedOrder.corrupted("the sections do not count the rows")
        }
        return places
    }

    // MARK: Rows

    /// Finds the old rank of each row of the new state. Notes the rows that are gone as deleted.
    private mutating func matchRows() throws {
        // The old ranks, plus 1, of rows whose keys the new state doesn't have, by the raw values of their objects' keys.
        var left = SparseArray()
        // The objects of the rows whose keys the old state doesn't have, in the new order.
        var came: [UInt64] = []
        let (next, entity) = (try RowCursor(new), new.entity)
        func noteChanged() throws {
            changed.insert(next.rank)
            came.append(try next.object().rawValue)
            try next.advance()
        }
        var oldRank: UInt32 = 0
        try old.forEachKey { key in
            var order = next.compare(key)
            while order < 0 {
                try noteChanged()
                order = next.compare(key)
            }
            if order == 0 {
                oldRanks[next.rank] = oldRank
                try next.advance()
            } else {
                guard let object = RowKey.object(in: key, entity: entity) else {
                    throw SectionedOrder.corrupted("a row key is too short")
                }
                left[object.rawValue] = UInt64(oldRank) + 1
            }
            oldRank += 1
        }
        guard oldRank == old.rowCount else { throw SectionedOrder.corrupted("it counts more rows than there are") }
        while !next.isAtEnd { try noteChanged() }
        matchChanged(came, &left)
        try noteDeleted(left)
    }

    /// Finds the old ranks of changed rows, and removes their objects from those that are left.
    private mutating func matchChanged(_ objects: [UInt64], _ left: inout SparseArray) {
        var count = 0
        let ranks = changed
        ranks.forEach { rank in
            let found = left[objects[count]]
            if found != 0 {
                oldRanks[rank] = UInt32(found - 1)
                left[objects[count]] = 0
            }
            count += 1
        }
    }

    private mutating func noteDeleted(_ left: SparseArray) throws {
        var deleted: [(path: RowPath, object: RecordKey)] = []
        try left.forEach { object, rank in
            deleted.append((try oldSections.path(ofRank: Int(rank) - 1).path, RecordKey(rawValue: object)))
        }
        deleted.sort { $0.path < $1.path }
        for row in deleted { rows.delete(row.object, from: row.path) }
    }

    // MARK: Moves

    /// Finds the rows that move within their sections.
    private mutating func findMoves() {
        var moved = BitSet(count: new.rowCount)
        for (oldPlace, newPlace) in zip(places.oldSections, places.newSections) {
            if let oldPlace, let newPlace { findMoves(from: oldPlace, to: newPlace, &moved) }
        }
        self.moved = moved
    }

    /// Like `FewestMoves.find`, with one item for each changed row that stays in the section, and one for each run of
    /// unchanged rows between such rows of either state.
    private func findMoves(from oldPlace: SectionPlace, to newPlace: SectionPlace, _ moved: inout BitSet) {
        // The old indexes of changed rows that stay.
        var olds = BitSet(count: oldPlace.count)
        var hasChanges = false
        forEachStaying(from: oldPlace, to: newPlace) { rank, old in
            if changed.contains(rank) {
                olds.insert(old)
                hasChanges = true
            }
        }
        if !hasChanges { return }
        var subsequence = HeaviestIncreasing()
        // The old indexes of the items' first rows.
        var starts = BitSet(count: oldPlace.count)
        forEachItem(from: oldPlace, to: newPlace, olds) { rank, old, isFirst in
            if isFirst {
                starts.insert(old)
                subsequence.append(unchanged: changed.contains(rank) ? 0 : 1)
            } else {
                subsequence.extendLast()
            }
        }
        let ranked = RankedBitSet(starts)
        var item = 0
        forEachItem(from: oldPlace, to: newPlace, olds) { _, old, isFirst in
            if !isFirst { return }
            subsequence.setRank(ranked.rank(of: old), of: item)
            item += 1
        }
        let stays = subsequence.find()
        item = -1
        forEachItem(from: oldPlace, to: newPlace, olds) { rank, _, isFirst in
            if isFirst { item += 1 }
            if !stays.contains(item) { moved.insert(rank) }
        }
    }

    /// Calls the body with each row that is in a section in both states, in the new order: its new rank, and its old
    /// index in the section.
    private func forEachStaying(
        from oldPlace: SectionPlace, to newPlace: SectionPlace, _ body: (_ rank: Int, _ old: Int) -> Void
    ) {
        for rank in newPlace.firstRank..<newPlace.firstRank + newPlace.count where oldRanks[rank] != Self.none {
            let old = Int(oldRanks[rank]) - oldPlace.firstRank
            if old >= 0 && old < oldPlace.count { body(rank, old) }
        }
    }

    /// Calls the body like `forEachStaying`, and says which rows begin an item.
    private func forEachItem(
        from oldPlace: SectionPlace, to newPlace: SectionPlace, _ olds: BitSet,
        _ body: (_ rank: Int, _ old: Int, _ isFirst: Bool) -> Void
    ) {
        // The old index of the row before, if that is unchanged.
        var before: Int?
        forEachStaying(from: oldPlace, to: newPlace) { rank, old in
            if changed.contains(rank) {
                before = nil
                return body(rank, old, true)
            }
            // The rows between two unchanged ones in the old order are changed, or don't stay.
            let continues = before.map { $0 < old && !olds.hasAny(in: $0 + 1..<old) } ?? false
            before = old
            body(rank, old, !continues)
        }
    }

    // MARK: Events

    private mutating func addEvents(_ updated: SparseSet) throws {
        var numbers = Array(repeating: 0, count: new.sectionCount)
        for (number, place) in places.newSections.enumerated() {
            if let place, numbers.indices.contains(place.index) { numbers[place.index] = number }
        }
        var rows = PackedRowEvents()
        swap(&rows, &self.rows)
        // Local copies, because the closure would copy the whole comparison for each row.
        let (places, oldSections) = (places.newSections, oldSections)
        let (oldRanks, changed, moved) = (oldRanks, changed, moved)
        try new.walkRows(from: 0) { object, to in
            guard to.section < numbers.count, let place = places[numbers[to.section]], to.row < place.count else {
                throw SectionedOrder.corrupted("a section's count does not agree with its rows")
            }
            let rank = place.firstRank + to.row
            if oldRanks[rank] == Self.none {
                rows.insert(object, to: to)
                return true
            }
            let isUpdated = updated.contains(object.rawValue)
            if !isUpdated && !changed.contains(rank) && !moved.contains(rank) { return true }
            let (from, section) = try oldSections.path(ofRank: Int(oldRanks[rank]))
            if section != numbers[to.section] || moved.contains(rank) {
                rows.move(object, from: from, to: to)
            } else if isUpdated {
                rows.update(object, from: from, to: to)
            }
            return true
        }
        swap(&rows, &self.rows)
    }
}

extension SectionPlace {
    /// Returns the place with the rank of its first row, and raises the rank to that of the next section's.
    fileprivate func placed(after rank: inout Int) -> SectionPlace {
        var place = self
        place.firstRank = rank
        rank += count
        return place
    }
}
