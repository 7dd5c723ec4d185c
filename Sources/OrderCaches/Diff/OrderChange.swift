public import Records

/// Exactly what changed between two states of an order: from old rows to new rows.
///
/// Old positions (`from`) are in the state before, new ones (`to`) in the state after. Sections that moved are not
/// reported row by row; rows that merely shifted are not reported at all; the moves are the fewest that explain the new
/// order. Within each kind, events are ordered by position.
public struct OrderChange: Equatable, Sendable {
    public enum SectionEvent: Equatable, Sendable {
        case delete(from: Int, name: String)
        case insert(to: Int, name: String)
        case move(from: Int, to: Int, name: String)
    }

    public enum RowEvent: Equatable, Sendable {
        case delete(ObjectID, from: RowPath)
        case insert(ObjectID, to: RowPath)
        case move(ObjectID, from: RowPath, to: RowPath)
        case update(ObjectID, from: RowPath, to: RowPath)
    }

    /// Deletes, then inserts, then moves.
    public package(set) var sections: [SectionEvent] = []
    /// Deletes, then inserts, then moves, then updates.
    public package(set) var rows: [RowEvent] = []

    /// The permanent ids of rows that were saved, by their temporary ones: no event is about them, but whoever keeps ids
    /// must exchange these. Events name the new ids.
    public package(set) var renumbered: [ObjectID: ObjectID] = [:]

    /// Not nil when the order was computed anew and the old one could not be read, so that what changed is not known:
    /// there are no events then, and a copy of the rows must be read anew.
    public package(set) var rebuilt: RebuildReason?

    public init() {}

    /// A change that is not known.
    package init(rebuilt reason: RebuildReason) { rebuilt = reason }

    /// Whether nothing changed.
    public var isEmpty: Bool { sections.isEmpty && rows.isEmpty && rebuilt == nil }
}

extension OrderChange {
    /// The new rows that the events make of the old ones by table view rules: rows and sections leave by old positions,
    /// then arrive by new ones. Nil when an event does not fit.
    package func replay(on old: [[ObjectID]]) -> [[ObjectID]]? {
        var left: [[ObjectID?]] = old
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
        var arrivals: [(RowPath, ObjectID)] = []
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

    private func replaySections(on old: [[ObjectID]]) -> [[ObjectID]]? {
        var staying: [[ObjectID]?] = old
        var arriving: [Int: [ObjectID]] = [:]
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

extension OrderChange: CustomStringConvertible {
    /// The events in a line: section move 2 → 0 小学館, row insert #5 → 0:3, …
    public var description: String {
        if let rebuilt { return "rebuilt (\(rebuilt.rawValue))" }
        let events = sections.map(\.description) + rows.map(\.description)
        return events.isEmpty ? "no changes" : events.joined(separator: ", ")
    }
}

extension OrderChange.SectionEvent: CustomStringConvertible {
    public var description: String {
        switch self {
        case .delete(let from, let name): "section delete \(from) \(name)"
        case .insert(let to, let name): "section insert → \(to) \(name)"
        case .move(let from, let to, let name): "section move \(from) → \(to) \(name)"
        }
    }
}

extension OrderChange.RowEvent: CustomStringConvertible {
    public var description: String {
        switch self {
        case .delete(let object, let from): "row delete \(object) \(from)"
        case .insert(let object, let to): "row insert \(object) → \(to)"
        case .move(let object, let from, let to): "row move \(object) \(from) → \(to)"
        case .update(let object, let from, let to): "row update \(object) \(from) → \(to)"
        }
    }
}
