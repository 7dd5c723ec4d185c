package import FetchIndexModels

/// The exact change from one state of an order to another.
///
/// Positions named `from` are in the old state, positions named `to` in the new one. The moves are the fewest that
/// explain the new order. For a moved section, its rows aren't reported as moved; rows that only shifted aren't
/// reported. Events of the same kind are ordered by position.
package struct OrderChange: Equatable, Sendable {
    /// An event of a section. The name is nil for the section of rows whose section value is null.
    package enum SectionEvent: Equatable, Sendable {
        case delete(from: Int, name: String?)
        case insert(to: Int, name: String?)
        case move(from: Int, to: Int, name: String?)
        /// The section has a new name, but didn't move.
        case update(from: Int, to: Int, name: String?)

        package var name: String? {
            switch self {
            case .delete(_, let name), .insert(_, let name), .move(_, _, let name), .update(_, _, let name): name
            }
        }
    }

    package enum RowEvent: Equatable, Sendable {
        case delete(RecordKey, from: RowPath)
        case insert(RecordKey, to: RowPath)
        case move(RecordKey, from: RowPath, to: RowPath)
        case update(RecordKey, from: RowPath, to: RowPath)
    }

    /// The events of sections: deletes, then inserts, then moves, then updates.
    package var sections: [SectionEvent] = []
    /// The events of rows: deletes, then inserts, then moves, then updates.
    package var rows: [RowEvent] = []

    /// For objects that were saved between the states, their new keys by their temporary keys. Events contain the new
    /// keys.
    package var renumbered: [RecordKey: RecordKey] = [:]

    /// The reason for a rebuild if the old order couldn't be read afterwards; otherwise nil. Then the change is
    /// unknown: it has no events, and a copy of the rows must be read again.
    package var rebuilt: RebuildReason?

    package init() {}

    /// Creates an unknown change, after a rebuild.
    package init(rebuilt reason: RebuildReason) { rebuilt = reason }

    /// Whether nothing changed.
    package var isEmpty: Bool { sections.isEmpty && rows.isEmpty && rebuilt == nil }
}

extension OrderChange {
    /// Applies the events to old rows by the rules of table views: rows and sections are removed by their old
    /// positions, and then inserted at their new ones. Returns the new rows; nil if an event doesn't fit the old rows.
    package func replay(on old: [[RecordKey]]) -> [[RecordKey]]? {
        var left: [[RecordKey?]] = old
        for event in rows {
            switch event {
            case .delete(let object, let from), .move(let object, let from, _):
                guard left.indices.contains(from.section), left[from.section].indices.contains(from.row),
                    left[from.section][from.row] == object
                else { return nil }
                left[from.section][from.row] = nil
            case .insert, .update: break
            }
        }
        guard var new = replaySections(on: left.map { $0.compactMap { $0 } }) else { return nil }
        var arrivals: [(RowPath, RecordKey)] = []
        for event in rows {
            switch event {
            case .insert(let object, let to), .move(let object, _, let to): arrivals.append((to, object))
            case .delete, .update: break
            }
        }
        for (path, object) in arrivals.sorted(by: { $0.0 < $1.0 }) {
            guard new.indices.contains(path.section), path.row <= new[path.section].count else { return nil }
            new[path.section].insert(object, at: path.row)
        }
        return new
    }

    private func replaySections(on old: [[RecordKey]]) -> [[RecordKey]]? {
        var staying: [[RecordKey]?] = old
        var arriving: [Int: [RecordKey]] = [:]
        for event in sections {
            switch event {
            case .delete(let from, _):
                guard staying.indices.contains(from), staying[from]?.isEmpty == true else { return nil }
                staying[from] = nil
            case .move(let from, let to, _):
                guard staying.indices.contains(from), let rows = staying[from] else { return nil }
                staying[from] = nil
                arriving[to] = rows
            case .insert(let to, _): arriving[to] = []
            case .update: break
            }
        }
        var new = staying.compactMap { $0 }
        for index in arriving.keys.sorted() {
            guard index <= new.count else { return nil }
            new.insert(arriving[index] ?? [], at: index)
        }
        return new
    }
}

extension OrderChange.RowEvent {
    package var object: RecordKey {
        switch self {
        case .delete(let object, _), .insert(let object, _), .move(let object, _, _), .update(let object, _, _): object
        }
    }
}
