import FetchIndexOrderCaches
import FetchIndexRecords
package import FetchIndex

/// Performs a script's steps on a store.
package final class ScriptPerformer {
    package let container: PersistentContainer
    /// The context of a failed save, with its edits.
    private var unsaved: ManagedObjectContext?
    /// The controller of a live save, which is kept as long as its context.
    private var controller: FetchedResultsController<ManagedObject>?

    package init(_ container: PersistentContainer) { self.container = container }

    /// Performs a step. If a save fails, its context is kept for `performAgain`, unless its controller's first
    /// fetch failed.
    package func perform(_ step: ScriptStep) throws {
        switch step {
        case .save(let changes, let isLive): try save(changes, isLive: isLive)
        case .transaction(let changes): try write(changes)
        case .batchInsert(let rows):
            let values = rows.map { $0.row.values(key: $0.key) }
            _ = try container.newContext().execute(BatchInsertRequest(entityName: ItemRow.entity, rows: values))
        case .batchUpdate(let group, let size):
            _ = try container.newContext().execute(
                BatchUpdateRequest(
                    entityName: ItemRow.entity, predicate: try FetchPredicate("group == %@", group),
                    propertiesToUpdate: ["size": .integer(size)]))
        case .batchDelete(let sizes):
            _ = try container.newContext().execute(
                BatchDeleteRequest(
                    entityName: ItemRow.entity,
                    predicate: try FetchPredicate("size BETWEEN {%d, %d}", sizes.lowerBound, sizes.upperBound)))
        case .open(let cache):
            var options = PersistentContainer.OrderOptions(cacheName: cache.rawValue)
            options.memoryBudget = 1
            try container.withOrder(try cache.definition(), options) { order in
                try order.forEachRow(limit: 5) { _ = try $0.value(of: "key") }
            }
        case .rebuild(let cache):
            var options = PersistentContainer.OrderOptions(cacheName: cache.rawValue)
            options.memoryBudget = 1
            let request = try container.compile(try cache.definition(), options)
            _ = try withPublicErrors {
                try container.cacheEngine.rebuild(CacheRequest(name: cache.rawValue, order: request), .requested)
            }
        case .migrate(let factor): try container.migrate(to: ItemRow.model(factor: factor))
        case .deleteCaches(let cache): try container.deleteCache(named: cache?.rawValue)
        case .trim(let kept):
            let context = container.newContext()
            let newest = try context.commit
            if newest > kept { try context.deleteHistory(before: newest - kept) }
        }
    }

    /// Performs a failed step again. A save is repeated with the edits that its context still has.
    package func performAgain(_ step: ScriptStep) throws {
        guard let context = unsaved else { return try perform(step) }
        try context.save()
        controller = nil
        unsaved = nil
    }

    private func save(_ changes: [ScriptChange], isLive: Bool) throws {
        let context = container.newContext()
        unsaved = context
        if isLive {
            var request = FetchRequest<ManagedObject>(entityName: ItemRow.entity)
            request.sortKeys = [SortKey("size", .descending)]
            let live = try FetchedResultsController(
                fetchRequest: request, context: context, sectionKey: .attribute("group"),
                cacheName: ScriptCache.byGroup.rawValue)
            do { try live.performFetch() } catch {
                unsaved = nil  // No edits so far.
                throw error
            }
            controller = live
        }
        for change in changes {
            switch change {
            case .delete(let key): if let object = try object(key, in: context) { context.delete(object) }
            case .follow(let key, let leader):
                guard let object = try object(key, in: context) else { continue }
                let other = try leader.map { try self.object($0, in: context) }
                if let found = other {
                    if let found { object.relate("leader", to: found) }
                } else {
                    object.relate("leader", to: nil)
                }
            case .like(let key, let liked):
                guard let object = try object(key, in: context), let other = try self.object(liked, in: context) else {
                    continue
                }
                let likes = object.relatedObjects("likes")
                if likes.contains(other) { likes.remove(other) } else { likes.insert(other) }
            case .put(let key, let row):
                let object = try object(key, in: context) ?? context.insert(ItemRow.entity(of: key))
                for (attribute, value) in zip(object.entity.attributes, row.values(key: key)) {
                    object[attribute.name] = value
                }
            }
        }
        try context.save()
        controller = nil
        unsaved = nil
    }

    private func object(_ key: String, in context: ManagedObjectContext) throws -> ManagedObject? {
        var request = FetchRequest<ManagedObject>(entityName: ItemRow.entity)
        request.predicate = try FetchPredicate("key == %@", key)
        return try context.fetch(request).first
    }

    private func write(_ changes: [ScriptChange]) throws {
        let writer = try BatchWriter(container, entity: ItemRow.entity, key: "key", author: "script")
        for change in changes {
            switch change {
            case .follow, .like: break  // The script makes these changes only in saves.
            case .delete(let key): if let object = try writer.object(key: .string(key)) { try writer.delete(object) }
            case .put(let key, let row):
                let record = try writer.entity.record(row.values(key: key))
                var batch = RecordBatch()
                batch.append(record.span.bytes)
                try writer.write(batch) { _, _ in }
            }
        }
        try writer.commit()
    }
}
