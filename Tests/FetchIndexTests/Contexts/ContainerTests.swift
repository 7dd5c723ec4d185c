import FetchIndexRecords
import Foundation
import FetchIndexTestSupport
import Testing

@testable import FetchIndex

/// Containers: which stores they create, refuse, leave unchanged and delete.
@Suite struct ContainerTests {
    let store: LiveStore
    let context: ManagedObjectContext

    init() throws {
        store = try LiveStore(Model(Book.self, Account.self))
        context = store.container.newContext()
    }

    private func insertBook(_ title: String, in context: ManagedObjectContext) {
        let book = Book(context: context)
        (book.title, book.publisher, book.price) = (title, "P", 1)
    }

    @Test func aStoreIsNotCreatedWithoutAModelOrAFileURL() throws {
        let folder = TemporaryFolder()
        #expect(throws: StoreError.missing(path: folder.path)) {
            try PersistentContainer(at: URL(fileURLWithPath: folder.path))
        }
        #expect(!FileManager.default.fileExists(atPath: folder.path))
        let url = try #require(URL(string: "https://example.com/x"))
        #expect(throws: StoreError.inaccessible(path: "https://example.com/x", "its URL is not a file URL")) {
            try PersistentContainer(at: url, model: Model(Book.self))
        }
    }

    @Test func aStoreIsNotCreatedInAFolderWithOtherFiles() throws {
        let folder = TemporaryFolder()
        let url = URL(fileURLWithPath: folder.path)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        try Data("a".utf8).write(to: url.appendingPathComponent("notes.txt"))
        let error = #expect(throws: StoreError.self) { try PersistentContainer(at: url, model: Model(Book.self)) }
        #expect("\(error as Any)".contains("notes.txt"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["notes.txt"])
        try FileManager.default.removeItem(at: url.appendingPathComponent("notes.txt"))
        _ = try PersistentContainer(at: url, model: Model(Book.self))
    }

    @Test func aReadOnlyContainerFetchesButCannotSave() throws {
        insertBook("a", in: context)
        try context.save()
        let copy = TemporaryFolder()
        try store.container.backup(to: URL(fileURLWithPath: copy.path))
        let url = URL(fileURLWithPath: copy.path)
        let container = try PersistentContainer(at: url, model: Model(Book.self), isReadOnly: true)
        let other = container.newContext()
        let request = FetchRequest<Book>(sortKeys: [SortKey(\.title)])
        let controller = try FetchedResultsController(fetchRequest: request, context: other, cacheName: "c")
        let outcome = try controller.performFetch()
        #expect(outcome == .rebuilt(.first))
        #expect(controller.fetchedObjects?.count == 1)
        insertBook("b", in: other)
        #expect(throws: StoreError.readOnly) { try other.save() }
        try other.rollback()
    }

    @Test func aTemporaryStoreIsDeletedWithItsContainer() throws {
        var container: PersistentContainer? = try PersistentContainer(temporaryWith: Model(Book.self))
        let path = try #require(container?.store.path)
        if let context = container?.newContext() {
            insertBook("a", in: context)
            try context.save()
            #expect(try context.count(for: FetchRequest<Book>()) == 1)
        }
        #expect(FileManager.default.fileExists(atPath: path))
        container = nil
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func aModelMismatchNamesTheAttributeThatDiffers() throws {
        func message(_ attributes: [AttributeDescription]) -> String {
            let model = Model(entities: [Entity("Account", attributes)])
            do {
                _ = try PersistentContainer(at: URL(fileURLWithPath: store.folder.path), model: model)
                return "opened"
            } catch { return "\(error)" }
        }
        try context.insert("Account")["name"] = "a"
        context.insertedObjects.first?["balance"] = 1
        try context.save()
        let owner = AttributeDescription("owner", .string), balance = AttributeDescription("balance", .integer)
        let name = AttributeDescription("name", .string, isOptional: false, isUnique: true)
        let differs = "the stored entity Account differs from the model's: "
        let needs = ": that needs `migration: .automatic`"
        #expect(
            message([AttributeDescription("name", .string, isOptional: false), owner])
                == differs + "to make name not unique, its unique keys are deleted" + needs)
        #expect(
            message([name, AttributeDescription("owner", .integer)])
                == differs + "to change owner from string to integer, each value is converted" + needs)
        #expect(
            message([name, owner, AttributeDescription("code", .string, isOptional: false)])
                == differs
                + "to add code: string: it is required, but has no default value for existing objects")
        #expect(message([name, owner, balance]) == "opened", "values may become optional")
    }
}
