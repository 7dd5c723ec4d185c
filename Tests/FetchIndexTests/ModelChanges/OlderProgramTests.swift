import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// Programs and contexts with a model that is older than the store's model: they work without losing values, or they
/// are refused.
@Suite struct OlderProgramTests {
    let store = ModelStore()

    @Test func aProgramIsRefusedIfItsNameForAnAttributeNowBelongsToAnotherAttribute() throws {
        let start = ModelStore.book([AttributeDescription("a", .string), AttributeDescription("c", .string)])
        _ = try store.open(start)
        #expect(throws: StoreError.self) {
            try store.open(
                ModelStore.book([
                    AttributeDescription("a", .string), AttributeDescription("b", .string, renamedFrom: "a"),
                ]))
        }
        _ = try store.open(
            ModelStore.book([AttributeDescription("b", .string, renamedFrom: "a"), AttributeDescription("c", .string)]))
        _ = try store.open(ModelStore.book([AttributeDescription("a", .string, renamedFrom: "c")]))
        #expect(throws: StoreError.self) { try store.open(start) }
    }

    /// The program declares only a part of the model, so opening the store with it changed no attribute. It's refused
    /// all the same.
    @Test func aProgramIsRefusedAfterAnAttributeThatItDeclaresGotAnotherType() throws {
        try store.fill(store.open(ModelStore.first))
        let part = ModelStore.book([AttributeDescription("price", .integer)])
        _ = try store.open(part)
        try store.open(nil).migrate(to: ModelStore.book([AttributeDescription("price", .string)]))
        #expect(throws: StoreError.self) { try store.open(part, .automatic) }
        #expect(try store.open(nil).model().entity(named: "Book")?.attributes.map(\.type) == [.string, .string])
    }

    private final class OldNote: ManagedObject {
        @Attribute("text") var text: String
        @Attribute("stars") var stars: Int?

        override class var entityName: String { "Note" }
    }

    private final class NewNote: ManagedObject {
        @Attribute("color") var color = "red"
        @Attribute("body", renamedFrom: "text") var body: String
        @Attribute("stars") var stars: Int?

        override class var entityName: String { "Note" }
    }

    @Test func programsWithOlderAndNewerModelsShareAStore() throws {
        let old = try store.open(Model(OldNote.self))
        let first = old.newContext()
        for number in 0..<5 {
            let note = OldNote(context: first)
            (note.text, note.stars) = ("note \(number)", number)
        }
        try first.save()
        for round in 0..<4 {
            let new = try store.open(Model(NewNote.self))
            let newer = new.newContext()
            for note in try newer.fetch(FetchRequest<NewNote>()) where note.stars == round {
                note.color = "blue \(round)"
            }
            NewNote(context: newer).body = "new \(round)"
            try newer.save()
            let olderContainer = try store.open(Model(OldNote.self))
            let older = olderContainer.newContext()
            for note in try older.fetch(FetchRequest<OldNote>()) where note.text.hasPrefix("note") { note.text += "!" }
            OldNote(context: older).text = "old \(round)"
            try older.save()
        }
        let last = try store.open(Model(NewNote.self)).newContext()
        let notes = try last.fetch(FetchRequest<NewNote>())
        #expect(notes.count == 13)
        #expect(notes.prefix(5).map(\.color) == ["blue 0", "blue 1", "blue 2", "blue 3", "red"])
        #expect(notes.prefix(5).map(\.body) == (0..<5).map { "note \($0)!!!!" })
        #expect(notes.dropFirst(5).map(\.body) == (0..<4).flatMap { ["new \($0)", "old \($0)"] })
        #expect(notes.dropFirst(5).allSatisfy { $0.color == "red" })
        #expect(try store.open(nil).check { _, _ in } == [])
    }

    @Test func aSaveByAnOlderModelKeepsTheValuesOfNewAttributes() throws {
        let store = try LiveStore(Model(Account.self))
        let context = store.container.newContext()
        let a = Account(context: context)
        (a.name, a.balance) = ("a", 1)
        try context.save()
        let attributes = try #require(store.container.model().entity(named: "Account")).attributes
        let grown = Model(entities: [Entity("Account", attributes + [AttributeDescription("rating", .integer)])])
        let newer = try PersistentContainer(
            at: URL(fileURLWithPath: store.folder.path), model: grown, durability: .none)
        let theirs = newer.newContext()
        try #require(try theirs.fetch(FetchRequest<ManagedObject>(entityName: "Account")).first)["rating"] = 5
        try theirs.save()
        try context.mergeChanges()
        a.balance = 2
        try context.save()
        try theirs.mergeChanges()
        let object = try #require(try theirs.fetch(FetchRequest<ManagedObject>(entityName: "Account")).first)
        #expect(object["rating"] == 5 && object["balance"] == 2)
    }

    /// A controller of the context follows the dropped entity, so the merge after the save would fail. If the save
    /// itself didn't fail, its changes would be stored although it's reported as failed.
    @Test func aSaveFailsIfAControllerFollowsADroppedEntity() throws {
        let store = try LiveStore(Model(Book.self, Account.self))
        let context = store.container.newContext()
        let kept = Book(context: context)
        (kept.title, kept.publisher, kept.price) = ("kept", "P", 1)
        try context.save()
        let request = FetchRequest<Account>(sortKeys: [SortKey(\.name)])
        let controller = try FetchedResultsController(fetchRequest: request, context: context)
        try controller.performFetch()
        try store.container.dropEntity(named: "Account")
        kept.title = "changed"
        #expect(throws: StoreError.self) { try context.save() }
        #expect(context.hasChanges)
        let again = try store.reopened().newContext()
        #expect(try again.fetch(FetchRequest<Book>()).map(\.title) == ["kept"])
    }
}
