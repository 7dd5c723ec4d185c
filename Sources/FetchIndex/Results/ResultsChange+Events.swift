public import FetchIndexModels
public import FetchIndexOrderCaches

/// The kind of change of a section, a row or an object. Only sections and rows move. A section by related object is
/// updated if the object's name changes and the section doesn't move.
public enum ChangeKind: Hashable, Sendable {
    case insert
    case delete
    case move
    case update
}

extension SectionEvent {
    /// The section's name; the new name if the name has changed.
    public var name: String {
        switch self {
        case .delete(_, let name), .insert(_, let name), .move(_, _, let name), .update(_, _, let name): name
        }
    }

    public var kind: ChangeKind {
        switch self {
        case .delete: .delete
        case .insert: .insert
        case .move: .move
        case .update: .update
        }
    }

    /// The index before the change; nil for an insertion.
    public var from: Int? {
        switch self {
        case .delete(let from, _), .move(let from, _, _), .update(let from, _, _): from
        case .insert: nil
        }
    }

    /// The index after the change; nil for a deletion.
    public var to: Int? {
        switch self {
        case .insert(let to, _), .move(_, let to, _), .update(_, let to, _): to
        case .delete: nil
        }
    }
}

// These properties are declared only for ids, so that the delivery to a delegate needs no generic code.
extension OrderChange.RowEvent where RowID == ObjectID {
    /// The row's object.
    public var id: ObjectID {
        switch self {
        case .delete(let id, _), .insert(let id, _), .move(let id, _, _), .update(let id, _, _): id
        }
    }

    public var kind: ChangeKind {
        switch self {
        case .delete: .delete
        case .insert: .insert
        case .move: .move
        case .update: .update
        }
    }

    /// The path before the change; nil for an insertion.
    public var from: RowPath? {
        switch self {
        case .delete(_, let from), .move(_, let from, _), .update(_, let from, _): from
        case .insert: nil
        }
    }

    /// The path after the change; nil for a deletion.
    public var to: RowPath? {
        switch self {
        case .insert(_, let to), .move(_, _, let to), .update(_, _, let to): to
        case .delete: nil
        }
    }
}

extension OrderChange: CustomStringConvertible where RowID == ObjectID {
    /// The events in a line: section move 2 → 0 小学館, row insert #5 → 0:3, …
    public var description: String {
        if let rebuilt { return "rebuilt (\(rebuilt.rawValue))" }
        let events = sections.map(\.description) + rows.map(\.description)
        return events.isEmpty ? "no changes" : events.joined(separator: ", ")
    }
}

extension SectionEvent: CustomStringConvertible {
    public var description: String { "section \(kind) \(places(from, to)) \(name)" }
}

extension OrderChange.RowEvent: CustomStringConvertible where RowID == ObjectID {
    public var description: String { "row \(kind) \(id) \(places(from, to))" }
}

/// The old and new position of an event as text: 2 for a deletion, → 0 for an insertion, otherwise 2 → 0.
private func places<Position>(_ from: Position?, _ to: Position?) -> String {
    [from.map { "\($0)" }, to.map { "→ \($0)" }].compactMap(\.self).joined(separator: " ")
}
