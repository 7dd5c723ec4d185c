public import FetchIndexModels
extension ResultsChange {
    /// The change without moves, for lists that don't support all moves: UIKit refuses to move a row into an inserted
    /// section, out of a deleted section, or in a section that moves.
    ///
    /// A moved section is deleted and inserted with all its rows. A moved row becomes a deletion and an insertion. In
    /// moved sections, deletions of rows are omitted, because the section's deletion includes them, and so are updates,
    /// because the rows are inserted with their new values. `rows` returns the ids of the rows in a section of the new
    /// state. O(m log m) for m events and rows of moved sections.
    public func asDeletesAndInserts(rows ids: (_ section: Int) -> [ObjectID]) -> ResultsChange {
        var change = ResultsChange()
        change.renumbered = renumbered
        change.rebuilt = rebuilt
        var moved = (from: Set<Int>(), to: Set<Int>())
        var deleted: [(from: Int, name: String)] = []
        var inserted: [(to: Int, name: String)] = []
        var updated: [SectionEvent] = []
        for event in sections {
            switch event {
            case .delete(let from, let name): deleted.append((from, name))
            case .insert(let to, let name): inserted.append((to, name))
            case .move(let from, let to, let name):
                deleted.append((from, name))
                inserted.append((to, name))
                moved.from.insert(from)
                moved.to.insert(to)
            case .update: updated.append(event)
            }
        }
        change.sections =
            deleted.sorted { $0.from < $1.from }.map { .delete(from: $0.from, name: $0.name) }
            + inserted.sorted { $0.to < $1.to }.map { .insert(to: $0.to, name: $0.name) } + updated
        change.rows = RowEvents(rowsWithoutMoves(moved, ids))
        return change
    }

    /// Replaces the moves of rows by deletions and insertions. Deletions of rows in a moved section are omitted,
    /// because the section's deletion includes its rows. All rows of the section are inserted at the section's new
    /// index.
    private func rowsWithoutMoves(_ moved: (from: Set<Int>, to: Set<Int>), _ ids: (Int) -> [ObjectID]) -> [RowEvent] {
        var deletes: [(ObjectID, RowPath)] = []
        var inserts: [(ObjectID, RowPath)] = []
        var updates: [RowEvent] = []
        for event in rows {
            switch event {
            case .delete(let id, let from): deletes.append((id, from))
            case .insert(let id, let to): inserts.append((id, to))
            case .move(let id, let from, let to):
                deletes.append((id, from))
                inserts.append((id, to))
            case .update(_, _, let to): if !moved.to.contains(to.section) { updates.append(event) }
            }
        }
        deletes.removeAll { moved.from.contains($0.1.section) }
        inserts.removeAll { moved.to.contains($0.1.section) }
        for section in moved.to {
            for (row, id) in ids(section).enumerated() { inserts.append((id, RowPath(section: section, row: row))) }
        }
        return deletes.sorted { $0.1 < $1.1 }.map { .delete($0.0, from: $0.1) }
            + inserts.sorted { $0.1 < $1.1 }.map { .insert($0.0, to: $0.1) } + updates
    }
}
