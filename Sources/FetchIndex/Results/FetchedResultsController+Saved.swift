internal import OrderCaches
package import Models

extension FetchedResultsController {
    /// The saved order that the controller shows, for readers that want values and no objects. Nil before the first fetch. Its
    /// rows are the controller's own where the request has no limit and the context no unsaved edits. O(entities).
    package func savedOrder() throws -> FetchedOrder? {
        guard let live else { return nil }
        let context = managedObjectContext
        return try FetchedOrder(live.saved, of: live.request.builder, try context.snapshot(), in: context.container)
    }

    /// The number over all sections of an object's row; nil when it is not in the results. O(log n).
    package func row(of object: RecordKey) -> Int? {
        guard let path = path(of: object) else { return nil }
        return read { try $0.section(at: path.section).rowsBefore + path.row }
    }
}
