import FetchIndex
import Foundation
import Observation
import Synchronization
import FetchIndexModels
import FetchIndexPredicates
import FetchIndexTestSupport
import Testing
import FetchIndexValues

/// A store of books that tests open with different models.
struct ModelStore {
    let folder = TemporaryFolder()

    func open(_ model: Model?, _ migration: MigrationPolicy = .freeChanges) throws -> PersistentContainer {
        try PersistentContainer(
            at: URL(fileURLWithPath: folder.path), model: model, migration: migration, durability: .none)
    }

    static func book(_ attributes: [AttributeDescription], removed: [String] = []) -> Model {
        Model(entities: [Entity("Book", attributes, removed: removed)])
    }

    static let first = book([
        AttributeDescription("title", .string, isOptional: false), AttributeDescription("price", .integer),
    ])

    /// Inserts ten books with titles and prices.
    func fill(_ container: PersistentContainer) throws {
        let context = container.newContext()
        for number in 0..<10 {
            let book = try context.insert("Book")
            book["title"] = .string("book \(number)")
            book["price"] = .integer(Int64(number * 100))
        }
        try context.save()
    }

    func values(_ container: PersistentContainer, of attribute: String) throws -> [Value] {
        let context = container.newContext()
        let request = FetchRequest<ManagedObject>(entityName: "Book")
        return try context.fetch(request).map { $0[attribute] }
    }

    func opened(
        _ container: PersistentContainer, _ sort: String, where predicate: String? = nil
    ) throws -> FetchOutcome {
        let context = container.newContext()
        var request = FetchRequest<ManagedObject>(entityName: "Book")
        request.sortKeys = [SortKey(sort)]
        request.predicate = try predicate.map { try FetchPredicate($0) }
        let controller = try FetchedResultsController(fetchRequest: request, context: context, cacheName: "c \(sort)")
        return try controller.performFetch()
    }
}
