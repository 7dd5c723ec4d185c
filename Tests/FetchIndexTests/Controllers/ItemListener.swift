import FetchIndex
import Testing

/// Collects the events of each batch of a controller as one change.
final class ItemListener: FetchedResultsControllerDelegate {
    private var batches: [ResultsChange] = []
    private var current: ResultsChange?

    /// Whether no batch has come since the last `take`.
    var isIdle: Bool { batches.isEmpty }

    func take() -> [ResultsChange] {
        defer { batches = [] }
        return batches
    }

    func controllerWillChangeContent(_ controller: FetchedResultsController<Item>) {
        #expect(current == nil)
        current = ResultsChange()
    }

    func controller(
        _ controller: FetchedResultsController<Item>, didChangeSection name: String, at index: Int?,
        for type: ChangeKind, newIndex: Int?
    ) {
        #expect(current?.rows.isEmpty == true, "sections come first")
        switch (type, index, newIndex) {
        case (.delete, let from?, nil): current?.sections.append(.delete(from: from, name: name))
        case (.insert, nil, let to?): current?.sections.append(.insert(to: to, name: name))
        case (.move, let from?, let to?): current?.sections.append(.move(from: from, to: to, name: name))
        default: Issue.record("a section event with unexpected indexes")
        }
    }

    func controller(
        _ controller: FetchedResultsController<Item>, didChange object: Item, at indexPath: RowPath?,
        for type: ChangeKind, newIndexPath: RowPath?
    ) {
        switch (type, indexPath, newIndexPath) {
        case (.delete, let from?, nil): current?.rows.append(.delete(object.objectID, from: from))
        case (.insert, nil, let to?): current?.rows.append(.insert(object.objectID, to: to))
        case (.move, let from?, let to?): current?.rows.append(.move(object.objectID, from: from, to: to))
        case (.update, let from?, let to?): current?.rows.append(.update(object.objectID, from: from, to: to))
        default: Issue.record("a row event with unexpected paths")
        }
    }

    func controllerDidChangeContent(_ controller: FetchedResultsController<Item>) {
        if let current { batches.append(current) }
        current = nil
    }
}
