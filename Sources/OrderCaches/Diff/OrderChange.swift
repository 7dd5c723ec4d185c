/// The change between two states of an order: exact, or unknown (`rebuilt`).
///
/// Old positions (`from`) are in the state before, new positions (`to`) in the state after. Rows that only move with
/// their section, or only shift because of other events, are not reported. The moves are the fewest that explain the
/// new order. Within each kind, events are ordered by position: deletes by the old one, others by the new one.
///
/// `RowID` names a row: in the difference of two orders it's the record key of the row's object, for users the object's
/// id.
public struct OrderChange<RowID: Hashable & Sendable>: Equatable, Sendable {
    public typealias SectionEvent = FetchIndexOrderCaches.SectionEvent

    public enum RowEvent: Equatable, Sendable {
        case delete(RowID, from: RowPath)
        case insert(RowID, to: RowPath)
        case move(RowID, from: RowPath, to: RowPath)
        case update(RowID, from: RowPath, to: RowPath)
    }

    /// The events of sections: deletes, then inserts, then moves, then updates.
    public var sections: [SectionEvent] = []
    /// The events of rows: deletes, then inserts, then moves, then updates.
    public var rows: RowEvents = []

    /// The permanent ids of newly saved rows, by their temporary ids. No event reports this replacement, so a reader
    /// must replace the temporary ids in its list of rows. Events of these rows contain the permanent ids.
    public var renumbered: [RowID: RowID] = [:]

    /// If the change is unknown, for example because the old order couldn't be read, the reason; otherwise nil. An
    /// unknown change has no events, so a copy of the rows must be read again.
    public var rebuilt: RebuildReason?

    /// The positions in `sections` of the events of the null section, whose name is "", like that of the section of the
    /// empty text.
    package var eventsOfNull: Set<Int> = []

    /// Creates a change without events.
    public init() {}

    /// Creates an unknown change.
    package init(rebuilt reason: RebuildReason) { rebuilt = reason }

    /// Whether the change has no events and isn't unknown. Replaced ids (`renumbered`) don't count.
    public var isEmpty: Bool { sections.isEmpty && rows.isEmpty && rebuilt == nil }

    /// Adds an event of a section by its name, which is nil for the null section.
    mutating func add(_ name: String?, _ event: (_ name: String) -> SectionEvent) {
        if name == nil { eventsOfNull.insert(sections.count) }
        sections.append(event(name ?? ""))
    }
}

extension OrderChange {
    /// Applies the events to old rows by the rules of table views: rows and sections are removed by their old
    /// positions, and then inserted at their new ones. Returns the new rows; nil if a delete, insert or move doesn't
    /// fit the old rows.
    package func replay(on old: [[RowID]]) -> [[RowID]]? {
        var left: [[RowID?]] = old
        for event in rows {
            switch event {
            case .delete(let id, let from), .move(let id, let from, _):
                guard left.indices.contains(from.section), left[from.section].indices.contains(from.row),
                    left[from.section][from.row] == id
                else { return nil }
                left[from.section][from.row] = nil
            case .insert, .update: break
            }
        }
        guard var new = replaySections(on: left.map { $0.compactMap { $0 } }) else { return nil }
        var arrivals: [(RowPath, RowID)] = []
        for event in rows {
            switch event {
            case .insert(let id, let to), .move(let id, _, let to): arrivals.append((to, id))
            case .delete, .update: break
            }
        }
        for (path, id) in arrivals.sorted(by: { $0.0 < $1.0 }) {
            guard new.indices.contains(path.section), path.row <= new[path.section].count else { return nil }
            new[path.section].insert(id, at: path.row)
        }
        return new
    }

    private func replaySections(on old: [[RowID]]) -> [[RowID]]? {
        var staying: [[RowID]?] = old
        var arriving: [Int: [RowID]] = [:]
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

/// A change of a section. If the section's name changed, its move or update has the new name.
public enum SectionEvent: Equatable, Sendable {
    case delete(from: Int, name: String)
    case insert(to: Int, name: String)
    case move(from: Int, to: Int, name: String)
    /// The section's object has another name, but the section did not move.
    case update(from: Int, to: Int, name: String)
}
