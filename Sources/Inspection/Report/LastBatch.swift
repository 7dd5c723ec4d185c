internal import FetchIndexInspection
internal import FetchIndex
internal import FetchIndexModels

/// Computes the changes of a cache's order since the commit from which its last stored opening caught it up, or for an
/// exact reader since the commit that the reader had received before that opening. For a maintained cache, these
/// include the changes that writers have applied since. There is no batch if that opening rebuilt the cache.
struct LastBatch {
    private static let mostRows = 24
    private static let mostNameLength = 60
    /// The batch isn't computed if the commits have more changes of records than this.
    private static let mostChanges = 5000

    private let name: String
    private let container: PersistentContainer
    private let state: PinnedState

    init(_ name: String, _ container: PersistentContainer, _ state: PinnedState) {
        (self.name, self.container, self.state) = (name, container, state)
    }

    /// Returns nil if the batch is empty or can't be computed, for example because no opening was stored, the last
    /// stored opening rebuilt the cache, the cache isn't current, the log doesn't reach back far enough, the commits
    /// have too many changes, or the order depends on other objects.
    func batch(_ history: CacheHistory) throws -> Batch? {
        guard let start = history.openings.last(where: \.isStored)?.start,
            let change = try? state.change(ofCache: name, since: start, mostRecords: Self.mostChanges), !change.isEmpty
        else { return nil }
        let names = try? container.names(since: start).names(of: change.rows.prefix(Self.mostRows).map(\.id))
        let sections = change.sections.enumerated().map { index, event in
            Self.row(event, name: change.sectionName(ofEvent: index))
        }
        let rows = sections + change.rows.prefix(Self.mostRows).map { row($0, names ?? [:]) }
        let left = change.sections.count + change.rows.count - Self.mostRows
        return Batch(
            summary:
                "\(Numbers.count(change.sections.count, "section")) and \(Numbers.count(change.rows.count, "row")) "
                + "since commit \(Numbers.grouped(Int(clamping: start)))",
            rows: Array(rows.prefix(Self.mostRows)), more: left > 0 ? "… \(Numbers.grouped(left)) more" : "")
    }

    /// `name` is nil for the section of the rows without a value.
    private static func row(_ event: SectionEvent, name: String?) -> BatchRow {
        func shown(_ index: Int?) -> String { index.map { "section \(Numbers.grouped($0))" } ?? "" }
        let title = name.map { $0.isEmpty ? "of empty texts" : $0.shortened(to: mostNameLength) }
        return BatchRow(
            before: shown(event.from), after: shown(event.to), name: "section \(title ?? "without value")",
            style: event.kind.participle)
    }

    private func row(_ event: ResultsChange.RowEvent, _ names: [ObjectID: ObjectName]) -> BatchRow {
        func shown(_ path: RowPath?) -> String {
            path.map { "section \(Numbers.grouped($0.section)), row \(Numbers.grouped($0.row))" } ?? ""
        }
        let id = event.id
        let key = names[id]?.key.map { " \($0.description.shortened(to: Self.mostNameLength))" } ?? ""
        return BatchRow(
            before: shown(event.from), after: shown(event.to), name: "\(id.entityName.visible) \(id.number)\(key)",
            style: event.kind.participle)
    }
}
