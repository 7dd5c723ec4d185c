internal import FetchIndexOrderCaches
package import FetchIndexModels
internal import FetchIndexRecords

// For readers of a controller that show its rows as values, or print its changes: the live page, and `watch`. Users' programs have the
// objects.
extension FetchedResultsController {
    /// The saved order that the controller shows, for readers that want values and no objects. Nil before the first fetch. Its
    /// rows are the controller's own where the request has no limit and the context no unsaved edits. O(entities).
    package func savedOrder() throws -> FetchedOrder? {
        guard let live else { return nil }
        let context = managedObjectContext
        return try FetchedOrder(live.saved, of: live.request.builder, try context.snapshot(), in: context.container)
    }

    /// Lets the cache take the state of the context, which the program has written out: so a program that ends before is told the same again.
    /// A busy writer is not waited for, as the next call does the same. Only of a controller that needs the exact change. O(k log n) for k
    /// changes since the last call.
    package func settle() throws {
        guard needsExactChange, let cacheName, let live else { return }
        let context = managedObjectContext
        try withPublicErrors {
            if let reading {
                self.reading = nil
                do { try context.container.cacheEngine.end(reading, limit: .zero) } catch StoreError.writerBusy {}
                if try reading.snapshot.commit == context.snapshot().commit { return }
            }
            try context.container.cacheEngine.advance(
                cacheRequest(cacheName, live.request), to: try context.snapshot())
        }
    }

    /// The number over all sections of an object's row; nil when it is not in the results. O(log n).
    package func row(of object: RecordKey) -> Int? {
        guard let path = path(of: object) else { return nil }
        return read { try $0.section(at: path.section).rowsBefore + path.row }
    }
}
