@testable import FetchIndex
import Foundation
import FetchIndexLMDB
import FetchIndexOrderCaches
import FetchIndexRecords
import FetchIndexTestSupport

/// Uses a store like a user, and records results, defects, and errors of types that damage must not cause.
final class DamageProbe {
    /// The results of reads, by the name of the read. A read that threw an error has no entry.
    private(set) var contents: [String: [String]] = [:]
    /// The defects that `check` reported, or its error if the store couldn't be checked.
    private(set) var defects: [String] = []
    /// The errors of other types than those that `note` accepts.
    private(set) var strangeErrors: [String] = []

    private let folder: TemporaryFolder

    /// Checks the store before it reads anything, because reading can rebuild damaged caches.
    init(_ folder: TemporaryFolder) {
        self.folder = folder
        do { defects = try DamageableStore.open(folder).check { _, _ in } } catch {
            defects = ["\(error)"]
            note(error)
        }
        guard let container = attempt({ try DamageableStore.open(folder) }) else { return }
        for entity in ["Everything", "Other"] { read(entity, OrderDefinition(entity: entity), nil, container) }
        for format in [
            "integer > -3 AND string CONTAINS 'text'", "name == 'n5'", "code == 105000",
            "data == nil OR name == string", "owner.name == 'other'", "ANY readers.name == 'other'",
        ] {
            attempt {
                let predicate = try FetchPredicate(format: format, argumentArray: [])
                read(format, OrderDefinition(entity: "Everything", predicate: predicate), nil, container)
            }
        }
        attempt {
            let history = try container.newContext().fetchHistory(after: 0)
            contents["history"] = history.map { transaction in
                "\(transaction.commit) \(transaction.author) \(transaction.changes.map { "\($0.objectID) \($0.kind)" })"
            }
        }
        for (name, definition) in DamageableStore.caches { read("cache \(name)", definition, name, container) }
    }

    /// Opens the store with a model, edits and saves in a context with a controller, writes with a batch writer, opens
    /// `DamageableStore.caches`, and checks the store.
    func work() {
        attempt {
            let container = try DamageableStore.open(folder, withModel: true)
            let context = container.newContext()
            let request = FetchRequest<ManagedObject>(entityName: "Everything")
            var sorted = request
            sorted.sortKeys = DamageableStore.behind.sortKeys
            let controller = try FetchedResultsController(
                fetchRequest: sorted, context: context, sectionKey: nil, cacheName: "behind")
            attempt { _ = try controller.performFetch() }
            for section in controller.sections { for object in section.objects { _ = object["string"] } }
            attempt {
                let objects = try context.fetch(request)
                objects.last?["string"] = "edited"
                objects.first?["integer"] = 77
                if objects.count > 2 { context.delete(objects[1]) }
                let inserted = try context.insert("Everything")
                inserted["name"] = "new"
                try context.save()
            }
            try context.rollback()
            attempt {
                let writer = try BatchWriter(container, entity: "Everything", key: "name")
                if let object = try writer.object(key: "n9") { try writer.delete(object) }
                try writer.commit()
            }
        }
        for (name, definition) in DamageableStore.caches {
            attempt {
                try DamageableStore.open(folder).withOrder(definition, .init(cacheName: name)) { order in
                    try order.forEachRow { row in _ = try row.value(of: "string") }
                }
            }
        }
        attempt { _ = try DamageableStore.open(folder).check { _, _ in } }
        attempt { _ = try DamageableStore.open(folder).information() }
    }

    private func read(
        _ name: String, _ definition: OrderDefinition, _ cacheName: String?, _ container: PersistentContainer
    ) {
        attempt {
            contents[name] = try container.withOrder(definition, .init(cacheName: cacheName)) { order in
                var rows: [String] = []
                try order.forEachSection { section in
                    rows.append("\(section.name) \(section.count)")
                    return true
                }
                try order.forEachRow { row in
                    var text = "\(row.id) \(row.path)"
                    for slot in order.entity.attributes.indices { text += " \(try row.value(at: slot))" }
                    rows.append(text)
                }
                return rows
            }
        }
    }

    @discardableResult
    private func attempt<Result>(_ body: () throws -> Result) -> Result? {
        do { return try body() } catch {
            note(error)
            return nil
        }
    }

    private func note(_ error: any Error) {
        switch error {
        case is StoreError, is MergeConflicts, is ValidationError, is ContextError, is RequestError: break
        default: strangeErrors.append("\(type(of: error)): \(error)")
        }
    }
}
