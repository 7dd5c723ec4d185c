internal import FetchIndex
internal import FetchIndexModels

/// Computes the changes of a cache's order since the commit at which it was last caught up or rebuilt.
struct LastBatch {
    private static let mostRows = 24
    private static let mostNameLength = 60
    /// The batch isn't computed if more records than this changed.
    private static let mostChanges = 5000

    private let name: String
    private let container: PersistentContainer
    private let state: PinnedState

    init(_ name: String, _ container: PersistentContainer, _ state: PinnedState) {
        (self.name, self.container, self.state) = (name, container, state)
    }

    /// Returns nil if the batch is empty or can't be computed: the cache was never caught up or isn't current, the log no longer
    /// reaches back that far, too many records changed, or the order depends on other objects.
    func batch(_ history: CacheHistory) throws -> Batch? {
        guard let start = history.openings.last(where: \.isStored)?.start,
            let change = try? state.change(ofCache: name, since: start, mostRecords: Self.mostChanges), !change.isEmpty
        else { return nil }
        let names = try? container.names(of: change.rows.prefix(Self.mostRows).map(\.id), since: start)
        let sections = change.sections.enumerated().map { index, event in
            Self.row(event, isOfNull: change.eventsOfNull.contains(index))
        }
        let rows = sections + change.rows.prefix(Self.mostRows).map { row($0, names ?? [:]) }
        let left = change.sections.count + change.rows.count - Self.mostRows
        return Batch(
            summary:
                "\(Numbers.count(change.sections.count, "section")) and \(Numbers.count(change.rows.count, "row")) "
                + "since commit \(Numbers.grouped(Int(clamping: start)))",
            rows: Array(rows.prefix(Self.mostRows)), more: left > 0 ? "… \(Numbers.grouped(left)) more" : "")
    }

    private static func row(_ event: ResultsChange.SectionEvent, isOfNull: Bool) -> BatchRow {
        func shown(_ index: Int) -> String { "section \(Numbers.grouped(index))" }
        let title = event.name.isEmpty ? "of empty texts" : event.name.shortened(to: mostNameLength)
        let name = "section \(isOfNull ? "without value" : title)"
        return switch event {
        case .delete(let from, _): BatchRow(before: shown(from), after: "", name: name, style: "deleted")
        case .insert(let to, _): BatchRow(before: "", after: shown(to), name: name, style: "inserted")
        case .move(let from, let to, _): BatchRow(before: shown(from), after: shown(to), name: name, style: "moved")
        case .update(let from, let to, _): BatchRow(before: shown(from), after: shown(to), name: name, style: "updated")
        }
    }

    private func row(_ event: ResultsChange.RowEvent, _ names: [ObjectID: ObjectName]) -> BatchRow {
        func shown(_ path: RowPath) -> String {
            "section \(Numbers.grouped(path.section)), row \(Numbers.grouped(path.row))"
        }
        let id = event.id
        let key = names[id]?.key.map { " \($0.description.shortened(to: Self.mostNameLength))" } ?? ""
        let name = "\(id.entityName.visible) \(id.number)\(key)"
        return switch event {
        case .delete(_, let from): BatchRow(before: shown(from), after: "", name: name, style: "deleted")
        case .insert(_, let to): BatchRow(before: "", after: shown(to), name: name, style: "inserted")
        case .move(_, let from, let to): BatchRow(before: shown(from), after: shown(to), name: name, style: "moved")
        case .update(_, let from, let to): BatchRow(before: shown(from), after: shown(to), name: name, style: "updated")
        }
    }
}
