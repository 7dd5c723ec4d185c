/// Receives the changes of a controller's results, in this order: will change; sections deleted, inserted, moved and
/// updated; rows deleted, inserted, moved and updated; did change. All methods are optional.
///
/// Paths and indexes labelled `at` refer to the state before the batch; `newIndex` and `newIndexPath` refer to the
/// state after it. The controller already shows the state after the batch when the delivery begins. A delegate may
/// fetch and edit; its edits are reported after the delivery.
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
    /// Is called with the whole batch as a value, after `controllerDidChangeContent`.
    func controller(_ controller: FetchedResultsController<Object>, didChange change: ResultsChange)
    /// Returns the index title of a section; nil for the default: the upper-cased first character of the section's
    /// name, or the name itself if the section key is an index title.
    func controller(
        _ controller: FetchedResultsController<Object>, sectionIndexTitleForSectionName name: String
    ) -> String?
    /// Is called when the controller has become empty, usually because it found damaged records. During this call the
    /// context can't be saved, merged or rolled back.
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

/// A delegate that receives a copy of all results after each batch, instead of the calls that report the batch.
public protocol FetchedResultsControllerSnapshotDelegate<Object>: FetchedResultsControllerDelegate {
    func controller(_ controller: FetchedResultsController<Object>, didChangeContentWith snapshot: ResultsSnapshot)
}
