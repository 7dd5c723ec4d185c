import FetchIndex
import FetchIndexRecords
import Foundation
import FetchIndexTestSupport
import Testing

/// Contexts of a store whose folder is moved.
@Suite struct MovedStoreTests {
    @Test @MainActor func aMovedStoreCanBeReadButNotWrittenUntilItIsMovedBack() async throws {
        let folder = TemporaryFolder()
        let away = folder.path + "-away"
        defer { try? FileManager.default.removeItem(atPath: away) }
        let model = Model(entities: [Entity("Book", [AttributeDescription("title", .string)])])
        let container = try PersistentContainer(at: URL(fileURLWithPath: folder.path), model: model)
        let context = container.newContext()
        context.automaticallyMergesChanges = true
        try context.insert("Book")["title"] = "虐殺器官"
        try context.save()
        try FileManager.default.moveItem(atPath: folder.path, toPath: away)
        // The limit is long, since other tests may occupy all threads.
        let end = Date().addingTimeInterval(900)
        while context.automaticallyMergesChanges, Date() < end { try await Task.sleep(for: .milliseconds(10)) }
        #expect(!context.automaticallyMergesChanges)
        try context.insert("Book")["title"] = "ハーモニー"
        #expect(throws: StoreError.moved(path: container.store.path)) { try context.save() }
        #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Book")) == 2)
        try FileManager.default.moveItem(atPath: away, toPath: folder.path)
        try context.save()
        #expect(try container.check { _, _ in }.isEmpty)
    }
}
