internal import FetchIndex
internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexRecords

/// What changed in a cache's order since it was last caught up.
struct LastBatch {
    private static let mostRows = 24
    private static let mostNameLength = 60
    /// Of so many changed records the batch is still computed.
    private static let mostChanges = 5000

    private let name: String
    private let container: PersistentContainer
    private let snapshot: Snapshot

    init(_ name: String, _ container: PersistentContainer, _ snapshot: Snapshot) {
        (self.name, self.container, self.snapshot) = (name, container, snapshot)
    }

    /// Nil where it is not known: a cache that was never caught up or is behind, a log that was cut, too many changes.
    func batch(_ history: CacheHistory) throws -> Batch? {
        guard let start = history.openings.last(where: \.isStored)?.start,
            let request = try? CacheRequest(ofStored: name, in: snapshot),
            let change = try? container.cacheEngine.change(
                of: request, since: start, limit: Self.mostChanges, in: snapshot), !change.isEmpty
        else { return nil }
        let names = try? container.names(of: change.rows.prefix(Self.mostRows).map { id(of: $0.object) }, since: start)
        let rows = change.sections.map(Self.row) + change.rows.prefix(Self.mostRows).map { row($0, names ?? [:]) }
        let left = change.sections.count + change.rows.count - Self.mostRows
        return Batch(
            summary:
                "\(Numbers.count(change.sections.count, "section")) and \(Numbers.count(change.rows.count, "row")) "
                + "since commit \(Numbers.grouped(Int(clamping: start)))",
            rows: Array(rows.prefix(Self.mostRows)), more: left > 0 ? "… \(Numbers.grouped(left)) more" : "")
    }

    private static func row(_ event: OrderChange.SectionEvent) -> BatchRow {
        func shown(_ index: Int) -> String { "section \(Numbers.grouped(index))" }
        let name =
            "section "
            + (event.name.map { $0.isEmpty ? "of the empty text" : $0.shortened(to: mostNameLength) } ?? "without value")
        return switch event {
        case .delete(let from, _): BatchRow(before: shown(from), after: "", name: name, style: "deleted")
        case .insert(let to, _): BatchRow(before: "", after: shown(to), name: name, style: "inserted")
        case .move(let from, let to, _): BatchRow(before: shown(from), after: shown(to), name: name, style: "moved")
        case .update(let from, let to, _): BatchRow(before: shown(from), after: shown(to), name: name, style: "updated")
        }
    }

    private func id(of object: RecordKey) -> ObjectID { container.id(of: object, in: snapshot.model) }

    private func row(_ event: OrderChange.RowEvent, _ names: [ObjectID: ObjectName]) -> BatchRow {
        func shown(_ path: RowPath) -> String {
            "section \(Numbers.grouped(path.section)), row \(Numbers.grouped(path.row))"
        }
        let id = id(of: event.object)
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
