/// Receives the changes of the results of a controller: will change; sections deleted, inserted, moved and updated;
/// rows deleted, inserted, moved and updated; did change. All methods are optional.
///
/// Paths and indexes named `at` refer to the state before the batch, new ones to the state after it. The controller
/// already has the state after the batch when delivery begins. A delegate may fetch; its edits are reported afterwards.
public protocol FetchedResultsControllerDelegate<Object>: AnyObject {
    associatedtype Object: ManagedObject

    func controllerWillChangeContent(_ controller: FetchedResultsController<Object>)
    func controller(
        _ controller: FetchedResultsController<Object>, didChangeSection name: String, at index: Int?,
        for type: ChangeKind, newIndex: Int?)
    func controller(
        _ controller: FetchedResultsController<Object>, didChange object: Object, at indexPath: RowPath?,
        for type: ChangeKind, newIndexPath: RowPath?)
    func controllerDidChangeContent(_ controller: FetchedResultsController<Object>)
    /// Delivers the batch as a value, after `controllerDidChangeContent`.
    func controller(_ controller: FetchedResultsController<Object>, didChange change: ResultsChange)
    /// The index title of a section; nil for the default: the first character of its name, or the name if it is an
    /// index title.
    func controller(
        _ controller: FetchedResultsController<Object>, sectionIndexTitleForSectionName name: String
    ) -> String?
    /// The controller found damaged records, and is empty now. The context can't be saved, merged or rolled back in
    /// this call.
    func controller(_ controller: FetchedResultsController<Object>, didFailWith error: any Error)
}

extension FetchedResultsControllerDelegate {
    public func controllerWillChangeContent(_ controller: FetchedResultsController<Object>) {}
    public func controller(
        _ controller: FetchedResultsController<Object>, didChangeSection name: String, at index: Int?,
        for type: ChangeKind, newIndex: Int?
    ) {}
    public func controller(
        _ controller: FetchedResultsController<Object>, didChange object: Object, at indexPath: RowPath?,
        for type: ChangeKind, newIndexPath: RowPath?
    ) {}
    public func controllerDidChangeContent(_ controller: FetchedResultsController<Object>) {}
    public func controller(_ controller: FetchedResultsController<Object>, didChange change: ResultsChange) {}
    public func controller(
        _ controller: FetchedResultsController<Object>, sectionIndexTitleForSectionName name: String
    ) -> String? { nil }
    public func controller(_ controller: FetchedResultsController<Object>, didFailWith error: any Error) {}
}

/// A delegate that receives all results after each batch, and no single changes.
public protocol FetchedResultsControllerSnapshotDelegate<Object>: FetchedResultsControllerDelegate {
    func controller(_ controller: FetchedResultsController<Object>, didChangeContentWith snapshot: ResultsSnapshot)
}
