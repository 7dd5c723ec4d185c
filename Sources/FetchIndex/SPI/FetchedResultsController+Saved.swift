internal import FetchIndexOrderCaches
package import FetchIndexModels
internal import FetchIndexRecords

// For readers of a controller that show its rows as values, or print its changes: the live page, and `watch`. Users'
// programs have the objects.

extension FetchedResultsController<ManagedObject> {
    /// Makes a controller of a definition, which needs no sort keys. If `needsExactChange`, the first fetch reports the
    /// exact change since the cache was last current, however large, and the controller advances the cache only in
    /// `settle`. A cache that can't be caught up, for example because the log doesn't reach back, is rebuilt and stored
    /// by the fetch, which reports the rebuild. Throws `ContextError.notCacheable` for a definition that can't have a
    /// cache.
    package convenience init(
        _ definition: OrderDefinition, _ context: ManagedObjectContext, cacheName: String,
        needsExactChange: Bool = false
    ) throws {
        try self.init(
            FetchRequest(definition), context, sectionKey: definition.sectionKey,
            sectionOrder: definition.sectionOrder, cacheName: cacheName, requiresSortKeys: false,
            needsExactChange: needsExactChange)
    }
}

extension FetchedResultsController {
    /// The controller's order in the saved state, for readers that want values without objects; nil before the first
    /// fetch. The order has the controller's rows if the request has no offset and no limit and the context has no
    /// unsaved edits. O(entities).
    package func savedOrder() throws -> FetchedOrder? {
        guard let live else { return nil }
        let context = managedObjectContext
        return try FetchedOrder(live.saved, of: live.request.builder, try context.snapshot(), in: context.container)
    }

    /// Advances the cache to the context's state. Call this after the program has written out the changes: if the
    /// program ends earlier, its next run receives the same changes again. Does nothing while another writer is busy,
    /// because the next call tries again. Only for controllers with `needsExactChange`. O(k log n) for k changes since
    /// the last call.
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

    /// The index of an object's row among the rows of all sections; nil if the results don't contain the object.
    /// O(log n).
    package func row(of object: RecordKey) -> Int? {
        guard let path = path(of: object) else { return nil }
        return read { try $0.section(at: path.section).rowsBefore + path.row }
    }
}
