import FetchIndex
import Observation
import Synchronization
import FetchIndexModels
import FetchIndexTestSupport
import Testing

/// A record has a value at its attribute's slot. After a change of the model, the slot can differ from the attribute's
/// index in the model.
@Suite struct AttributeSlotTests {
    let store = ModelStore()

    /// Fetches, undo, merges and batch updates use the right slots after an attribute was removed.
    @Test func valuesAreReadAndWrittenAfterAnAttributeIsRemoved() throws {
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
        // An unsaved edit stays if another context sets another attribute to the same value.
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
        // The context whose model has the removed attribute can't save, and can't merge.
        book["title"] = "lost"
        #expect(throws: StoreError.self) { try context.save() }
        #expect(throws: StoreError.self) { try context.mergeChanges() }
    }

    @Test func observersOfAnObjectThatIsOlderThanAnAttributeAreNotified() throws {
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

    @Test func valuesOfABatchInsertAreMatchedByAttributeName() throws {
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

    /// The former name of a new attribute is that of another new attribute, declared before it.
    @Test func aNewAttributeIsNotTheFormerOneOfAnother() throws {
        let container = try store.open(ModelStore.book([AttributeDescription("title", .string)]))
        let context = container.newContext()
        try context.insert("Book")["title"] = "t"
        try context.save()
        let changed = ModelStore.book([
            AttributeDescription("title", .string), AttributeDescription("date", .date),
            AttributeDescription("dateString", .string, renamedFrom: "date"),
        ])
        try container.migrate(to: changed)
        #expect(try store.values(container, of: "date") == [.null] && store.values(container, of: "title") == ["t"])
        #expect(try container.check { _, _ in } == [])
    }
}
