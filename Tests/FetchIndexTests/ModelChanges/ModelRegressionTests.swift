import FetchIndex
import Foundation
import Observation
import Synchronization
import FetchIndexModels
import FetchIndexPredicates
import FetchIndexTestSupport
import Testing
import FetchIndexValues

/// Regression tests of changed models, one for each defect that was found.
@Suite struct ModelRegressionTests {
    let store = ModelStore()

    /// After a removal and a conversion, slots are no longer the indices of attributes.
    @Test func valuesAreFoundBySlot() throws {
        let start = ModelStore.book([
            AttributeDescription("old", .string), AttributeDescription("isbn", .string, isUnique: true),
            AttributeDescription("title", .string), AttributeDescription("note", .string),
        ])
        let container = try store.open(start)
        let context = container.newContext()
        context.isUndoEnabled = true
        let book = try context.insert("Book")
        for name in ["old", "isbn", "title", "note"] { book[name] = .string("\(name) 1") }
        try context.save()
        let changed = ModelStore.book(
            [
                AttributeDescription("isbn", .string, isUnique: true), AttributeDescription("title", .string),
                AttributeDescription("note", .string),
            ], removed: ["old"])
        let other = try store.open(nil)
        try other.migrate(to: changed)
        let newer = other.newContext()
        newer.isUndoEnabled = true
        var request = FetchRequest<ManagedObject>(entityName: "Book")
        request.resultType = .dictionaries
        if case .dictionaries(let rows) = try newer.execute(request) {
            #expect(rows == [["isbn": "isbn 1", "title": "title 1", "note": "note 1"]])
        }
        let object = try #require(try newer.fetch(FetchRequest<ManagedObject>(entityName: "Book")).first)
        object["note"] = "note 2"
        newer.processPendingChanges()
        #expect(newer.undo())
        #expect(object["note"] == "note 1")
        // An edit stays when another attribute is changed elsewhere to the same value.
        object["title"] = "same"
        let third = other.newContext()
        let same = try #require(try third.fetch(FetchRequest<ManagedObject>(entityName: "Book")).first)
        same["note"] = "same"
        try third.save()
        try newer.mergeChanges()
        #expect(object["title"] == "same")
        #expect(object.hasChanges)
        newer.mergePolicy = .mergeByPropertyStoreTrump
        try newer.save()
        #expect(try store.values(other, of: "title") == ["same"])
        #expect(try store.values(other, of: "note") == ["same"])
        try newer.execute(
            BatchUpdateRequest(entityName: "Book", predicate: nil, propertiesToUpdate: ["note": "batch"]))
        #expect(try store.values(other, of: "note") == ["batch"])
        // The context of the first program learns of it.
        book["title"] = "lost"
        #expect(throws: StoreError.self) { try context.save() }
        #expect(throws: StoreError.self) { try context.mergeChanges() }
    }

    @Test func anObservedObjectThatLacksASlotChangesElsewhere() throws {
        try store.fill(store.open(ModelStore.first))
        let container = try store.open(
            ModelStore.book([AttributeDescription("pages", .integer, isOptional: false, defaultValue: .integer(7))]))
        let context = container.newContext()
        let book = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Book")).first)
        let flag = Flag()
        withObservationTracking {
            _ = book["pages"]
            _ = book["title"]
        } onChange: {
            flag.isSet.withLock { $0 = true }
        }
        let other = container.newContext()
        let same = try #require(try other.fetch(FetchRequest<ManagedObject>(entityName: "Book")).first)
        same["title"] = "elsewhere"
        try other.save()
        try context.mergeChanges()
        #expect(flag.isSet.withLock { $0 })
        #expect(book["pages"] == .integer(7))
    }

    private final class Flag: Sendable {
        let isSet = Mutex(false)
    }

    /// A default value that replaces null moves rows and keys, which caches and unique keys must see.
    @Test func nullThatBecomesADefaultValueMovesRowsAndKeys() throws {
        let container = try store.open(ModelStore.first)
        let context = container.newContext()
        for number in 0..<400 {
            let book = try context.insert("Book")
            book["title"] = .string("\(number)")
            if number % 2 == 0 { book["price"] = .integer(Int64(number)) }
        }
        try context.save()
        #expect(try store.opened(container, "price") == .rebuilt(.first))
        let filled = ModelStore.book([
            AttributeDescription("price", .integer, isOptional: false, defaultValue: .integer(-1))
        ])
        try container.migrate(to: filled)
        var request = FetchRequest<ManagedObject>(entityName: "Book")
        request.predicate = try FetchPredicate("price == -1")
        let newer = container.newContext()
        #expect(try newer.count(for: request) == 200)
        #expect(try newer.fetch(request).count == 200)
        #expect(try store.opened(container, "price") == .rebuilt(.modelChanged))
        #expect(try newer.count(for: request) == 200)
        #expect(try container.check { _, _ in } == [])
    }

    @Test func aClosureMayOnlyDecideWhatTheMigrationChanges() throws {
        let container = try store.open(ModelStore.first)
        try store.fill(container)
        let more = ModelStore.book([AttributeDescription("pages", .integer)])
        #expect(throws: StoreError.unknownAttribute(entity: "Book", attribute: "pagse")) {
            try container.migrate(to: more) { _, _ in ["pagse": 1] }
        }
        #expect(throws: StoreError.self) { try container.migrate(to: more) { _, _ in ["title": "x"] } }
        let context = container.newContext()
        let book = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Book")).first)
        try container.migrate(to: more) { _, old in ["pages": old["price"] ?? .null] }
        #expect(try store.values(container, of: "pages") == (0..<10).map { .integer($0 * 100) })
        // A context that read the records before would write them back.
        book["title"] = "stale"
        #expect(throws: StoreError.self) { try context.save() }
        #expect(try container.check { _, _ in } == [])
    }

    @Test func namesThatAreTakenOverAreRefusedToOlderPrograms() throws {
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

    /// A program whose declaration never changed anything is an older one all the same.
    @Test func aProgramThatOnlyReadIsKnownLater() throws {
        try store.fill(store.open(ModelStore.first))
        let part = ModelStore.book([AttributeDescription("price", .integer)])
        _ = try store.open(part)
        try store.open(nil).migrate(to: ModelStore.book([AttributeDescription("price", .string)]))
        #expect(throws: StoreError.self) { try store.open(part, .automatic) }
        #expect(try store.open(nil).model().entity(named: "Book")?.attributes.map(\.type) == [.string, .string])
    }

    @Test func rowsOfBatchesAreMatchedByName() throws {
        let container = try store.open(ModelStore.first)
        let turned = ModelStore.book([
            AttributeDescription("price", .integer), AttributeDescription("title", .string, isOptional: false),
        ])
        let context = container.newContext()
        try context.execute(
            try BatchInsertRequest(entityName: "Book", objects: [["title": "t", "price": 5]], in: turned))
        #expect(try store.values(container, of: "title") == ["t"])
        #expect(try store.values(container, of: "price") == [.integer(5)])
    }

    @Test func conversionsThatLoseSomethingAreRefused() throws {
        let text = AttributeDescription("code", .string)
        let container = try store.open(ModelStore.book([text]))
        let context = container.newContext()
        let book = try context.insert("Book")
        for (value, type, isKept) in [
            ("00712", ValueType.integer, true), ("712", .integer, true), ("1.50", .double, true),
            ("0.1234567890123456789", .double, false), ("x", .decimal, false), ("2.50", .decimal, true),
        ] {
            book["code"] = .string(value)
            try context.save()
            let folder = TemporaryFolder()
            _ = try container.backup(to: URL(fileURLWithPath: folder.path))
            let copy = try PersistentContainer(at: URL(fileURLWithPath: folder.path), durability: .none)
            var isDone = true
            do { try copy.migrate(to: ModelStore.book([AttributeDescription("code", type)])) } catch StoreError
                .cannotMigrate
            {
                isDone = false
            }
            #expect(isDone == isKept, "\(value) as \(type)")
        }
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

    /// Two programs of different ages on one store, in turns.
    @Test func anOlderAndANewerProgramShareAStore() throws {
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
}
