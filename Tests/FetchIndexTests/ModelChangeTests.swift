import Administration
import Foundation
import Observation
import Synchronization
import Models
import Predicates
import TestSupport
import Testing
import Values

import FetchIndex

/// Models that change, as programs of several ages see them.
@Suite struct ModelChangeTests {
    let folder = TemporaryFolder()

    private func open(_ model: Model?, _ migration: MigrationPolicy = .freeChanges) throws -> PersistentContainer {
        try PersistentContainer(
            at: URL(fileURLWithPath: folder.path), model: model, migration: migration, durability: .none)
    }

    private static func book(_ attributes: [AttributeDescription], removed: [String] = []) -> Model {
        Model(entities: [Entity("Book", attributes, removed: removed)])
    }

    private static let first = book([
        AttributeDescription("title", .string, isOptional: false), AttributeDescription("price", .integer),
    ])

    /// Ten books with titles and prices.
    private func fill(_ container: PersistentContainer) throws {
        let context = container.newContext()
        for number in 0..<10 {
            let book = try context.insert("Book")
            book["title"] = .string("book \(number)")
            book["price"] = .integer(Int64(number * 100))
        }
        try context.save()
    }

    private func values(_ container: PersistentContainer, of attribute: String) throws -> [Value] {
        let context = container.newContext()
        let request = FetchRequest<ManagedObject>(entityName: "Book")
        return try context.fetch(request).map { $0[attribute] }
    }

    private func opened(
        _ container: PersistentContainer, _ sort: String, where predicate: String? = nil
    ) throws -> FetchOutcome {
        let context = container.newContext()
        var request = FetchRequest<ManagedObject>(entityName: "Book")
        request.sortKeys = [SortKey(sort)]
        request.predicate = try predicate.map { try FetchPredicate($0) }
        let controller = try FetchedResultsController(fetchRequest: request, context: context, cacheName: "c \(sort)")
        return try controller.performFetch()
    }

    @Test func theOrderOfDeclarationsHasNoMeaning() throws {
        try fill(open(Self.first))
        let turned = Self.book([
            AttributeDescription("price", .integer), AttributeDescription("title", .string, isOptional: false),
        ])
        let container = try open(turned)
        #expect(try values(container, of: "price") == (0..<10).map { .integer($0 * 100) })
        #expect(try values(container, of: "title").first == .string("book 0"))
    }

    @Test func anAttributeIsAddedWithoutTouchingRecords() throws {
        try fill(open(Self.first))
        #expect(try opened(open(nil), "price") == .rebuilt(.first))
        let commit = try open(nil).newContext().commit
        let second = Self.book([
            AttributeDescription("pages", .integer, isOptional: false, defaultValue: .integer(7)),
            AttributeDescription("title", .string, isOptional: false), AttributeDescription("price", .integer),
            AttributeDescription("note", .string),
        ])
        let container = try open(second)
        #expect(try container.newContext().commit == commit)
        #expect(try values(container, of: "pages") == Array(repeating: .integer(7), count: 10))
        #expect(try values(container, of: "note") == Array(repeating: .null, count: 10))
        // The cache does not read what is new.
        #expect(try opened(container, "price") == .hit)
        // Predicates, sort keys and new objects see the default value.
        let context = container.newContext()
        var request = FetchRequest<ManagedObject>(entityName: "Book")
        request.predicate = try FetchPredicate("pages == 7 AND note == NIL")
        #expect(try context.count(for: request) == 10)
        let new = try context.insert("Book")
        new["title"] = "new"
        #expect(new["pages"] == .integer(7))
        try context.save()
        #expect(try context.count(for: request) == 11)
        // An object that is changed keeps the default value.
        let object = try #require(try context.fetch(request).first)
        object["price"] = .integer(1)
        try context.save()
        #expect(try values(container, of: "pages") == Array(repeating: .integer(7), count: 11))
        #expect(try container.check { _, _ in } == [])
    }

    @Test func aRequiredAttributeWithoutAValueIsRefused() throws {
        try fill(open(Self.first))
        let second = Self.book(
            Self.first.entities[0].attributes + [
                AttributeDescription("isbn", .string, isOptional: false)
            ])
        #expect(throws: StoreError.self) { try open(second) }
        #expect(throws: StoreError.self) { try open(second, .automatic) }
        let plan = try open(nil).plan(for: second)
        #expect(plan.verdict == .decision)
        #expect(plan.steps.map(\.change) == [.addAttribute("isbn", .string)])
        let container = try open(nil)
        try container.migrate(to: second) { _, old in
            ["isbn": .string("isbn of \(old["title"]?.description ?? "")")]
        }
        #expect(try values(container, of: "isbn").first == .string("isbn of book 0"))
        #expect(try open(nil).check { _, _ in } == [])
    }

    @Test func aRenameLeavesCachesFreshAndOldNamesUsable() throws {
        try fill(open(Self.first))
        #expect(try opened(open(nil), "title", where: "title CONTAINS 'book'") == .rebuilt(.first))
        let second = Self.book([
            AttributeDescription("name", .string, isOptional: false, renamedFrom: "title"),
            AttributeDescription("price", .integer),
        ])
        let container = try open(second)
        #expect(try container.model().entity(named: "Book")?.attributes.map(\.name) == ["name", "price"])
        #expect(try values(container, of: "name").first == .string("book 0"))
        // Under the new name and under the old one the cache is the same.
        let context = container.newContext()
        for name in ["name", "title"] {
            var request = FetchRequest<ManagedObject>(entityName: "Book")
            request.sortKeys = [SortKey(name)]
            request.predicate = try FetchPredicate("\(name) CONTAINS 'book'")
            let controller = try FetchedResultsController(fetchRequest: request, context: context, cacheName: "c title")
            #expect(try controller.performFetch() == .hit, "\(name)")
        }
        // Opened again by the same model: nothing is renamed twice.
        #expect(try open(second).plan(for: second).isEmpty)
        // The older program goes on.
        let older = try open(Self.first)
        #expect(try values(older, of: "title").first == .string("book 0"))
        #expect(try container.check { _, _ in } == [])
    }

    @Test func aRemovedAttributeIsGoneAndItsNameCanBeUsedAgain() throws {
        try fill(open(Self.first))
        #expect(try opened(open(nil), "price") == .rebuilt(.first))
        #expect(try opened(open(nil), "title") == .rebuilt(.first))
        let second = Self.book([AttributeDescription("title", .string, isOptional: false)], removed: ["price"])
        let container = try open(second)
        #expect(try container.model().entity(named: "Book")?.attributes.map(\.name) == ["title"])
        #expect(try opened(container, "title") == .hit)
        #expect(throws: StoreError.unknownAttribute(entity: "Book", attribute: "price")) {
            try opened(container, "price")
        }
        // The older program needs it.
        let error = #expect(throws: StoreError.self) { try open(Self.first) }
        #expect(
            error?.description
                == "the stored entity Book differs from the model's: its attribute price was removed by a newer model"
        )
        let again = Self.book([
            AttributeDescription("title", .string, isOptional: false), AttributeDescription("price", .double),
        ])
        #expect(throws: StoreError.self) { try open(again) }
        let third = try open(again, .automatic)
        #expect(try values(third, of: "price") == Array(repeating: .null, count: 10))
        #expect(try opened(third, "price") == .rebuilt(.modelChanged))
        #expect(try third.check { _, _ in } == [])
    }

    @Test func anAttributeThatIsNotDeclaredStays() throws {
        try fill(open(Self.first))
        let part = Self.book([AttributeDescription("title", .string, isOptional: false)])
        let container = try open(part)
        let context = container.newContext()
        for book in try context.fetch(FetchRequest<ManagedObject>(entityName: "Book")) { book["title"] = "x" }
        try context.save()
        #expect(try values(open(Self.first), of: "price") == (0..<10).map { .integer($0 * 100) })
    }

    @Test func aTypeIsChangedByAPass() throws {
        try fill(open(Self.first))
        #expect(try opened(open(nil), "title") == .rebuilt(.first))
        #expect(try opened(open(nil), "price") == .rebuilt(.first))
        let second = Self.book([
            AttributeDescription("title", .string, isOptional: false), AttributeDescription("price", .string),
        ])
        let error = #expect(throws: StoreError.self) { try open(second) }
        #expect(error?.description.contains("migration: .automatic") == true)
        let container = try open(second, .automatic)
        #expect(try values(container, of: "price") == (0..<10).map { .string("\($0 * 100)") })
        #expect(try opened(container, "title") == .hit, "nothing that it reads changed")
        #expect(try opened(container, "price") == .rebuilt(.modelChanged))
        #expect(try container.check { _, _ in } == [])
    }

    @Test func objectsInTheWayAreNamedAndNothingChanges() throws {
        let container = try open(Self.first)
        try fill(container)
        let context = container.newContext()
        let objects = try context.fetch(FetchRequest<ManagedObject>(entityName: "Book"))
        objects[3]["price"] = .null
        try context.save()
        let numeric = Self.book([
            AttributeDescription("title", .integer, isOptional: false), AttributeDescription("price", .integer),
        ])
        let required = Self.book([
            AttributeDescription("title", .string, isOptional: false),
            AttributeDescription("price", .integer, isOptional: false),
        ])
        let unique = Self.book([
            AttributeDescription("title", .string, isOptional: false),
            AttributeDescription("price", .integer, isUnique: true),
        ])
        objects[4]["price"] = .integer(900)
        try context.save()
        let commit = try container.newContext().commit
        #expect(
            throws: StoreError.cannotMigrate(
                entity: "Book", attribute: "title", "is not an integer", objects: objects.prefix(5).map(\.objectID))
        ) { try container.migrate(to: numeric) }
        #expect(
            throws: StoreError.cannotMigrate(
                entity: "Book", attribute: "price", "is required, and is null", objects: [objects[3].objectID])
        ) { try container.migrate(to: required) }
        #expect(
            throws: StoreError.cannotMigrate(
                entity: "Book", attribute: "price",
                "must be unique, but object 5 has the same value", objects: [objects[9].objectID])
        ) { try container.migrate(to: unique) }
        #expect(try container.newContext().commit == commit)
        #expect(try container.model() == Self.first)
        #expect(try container.check { _, _ in } == [])
        // With a default value, null becomes it; without the double, values become unique.
        let filled = Self.book([
            AttributeDescription("title", .string, isOptional: false),
            AttributeDescription("price", .integer, isOptional: false, defaultValue: .integer(-1)),
        ])
        try container.migrate(to: filled)
        #expect(try values(open(nil), of: "price")[3] == .integer(-1))
    }

    @Test func valuesBecomeUniqueAndStopBeing() throws {
        let container = try open(Self.first)
        try fill(container)
        let unique = Self.book([
            AttributeDescription("title", .string, isOptional: false, isUnique: true),
            AttributeDescription("price", .integer),
        ])
        try container.migrate(to: unique)
        let context = container.newContext()
        let double = try context.insert("Book")
        double["title"] = "book 3"
        #expect(throws: ValidationError.self) { try context.save() }
        try context.rollback()
        #expect(try container.check { _, _ in } == [])
        _ = try open(Self.first, .automatic)
        #expect(try container.model() == unique, "an older program changes nothing")
        try container.migrate(to: Self.first)
        #expect(try container.model() == Self.first)
        let again = container.newContext()
        let third = try again.insert("Book")
        third["title"] = "book 3"
        try again.save()
        #expect(try container.check { _, _ in } == [])
    }

    /// A context that was open when the model changed.
    @Test func anOpenContextGoesOnOrGetsOneClearError() throws {
        let container = try open(Self.first)
        try fill(container)
        let context = container.newContext()
        let book = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Book")).first)
        let other = try open(nil)
        try other.migrate(
            to: Self.book(
                Self.first.entities[0].attributes + [
                    AttributeDescription("pages", .integer, isOptional: false, defaultValue: .integer(7))
                ]))
        book["price"] = .integer(5)
        try context.save()
        #expect(try values(other, of: "pages").first == .integer(7))
        try other.migrate(
            to: Self.book([
                AttributeDescription("title", .string, isOptional: false), AttributeDescription("price", .double),
            ]))
        #expect(book["price"] == .integer(5), "its snapshot is as it was")
        book["price"] = .integer(6)
        let error = #expect(throws: StoreError.self) { try context.save() }
        #expect(
            error?.description
                == "the stored entity Book differs from the model's: its attribute price is double in a newer model, and integer in this one"
        )
        #expect(try values(other, of: "price").first == .double(5))
    }

    /// A store that format version 4 wrote, before attributes had permanent numbers.
    @Test func aStoreOfTheFormerFormatIsRaised() throws {
        let stored = try #require(
            Bundle.module.url(forResource: "version4", withExtension: "mdb", subdirectory: "Stores"))
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: stored.path, toPath: folder.path + "/data.mdb")
        let container = try open(nil)
        #expect(try container.check { _, _ in } == [])
        let statistics = try container.cacheStatistics()
        #expect(statistics.map(\.name) == ["by price"])
        var request = FetchRequest<ManagedObject>(entityName: "Book")
        request.sortKeys = [SortKey("title")]
        func outcome(_ container: PersistentContainer) throws -> FetchOutcome {
            try FetchedResultsController(
                fetchRequest: request, context: container.newContext(), sectionKey: .attribute("price"),
                cacheName: "by price"
            ).performFetch()
        }
        #expect(try outcome(container) == .rebuilt(.formatChanged))
        #expect(try outcome(container) == .hit)
        let renamed = try open(
            Self.book([
                AttributeDescription("name", .string, renamedFrom: "title"),
                AttributeDescription("pages", .integer, isOptional: false, defaultValue: .integer(1)),
            ]))
        #expect(try outcome(renamed) == .hit)
        #expect(try values(renamed, of: "name") == [.string("影との戦い"), .string("虐殺器官"), .string("ハーモニー")])
        #expect(try values(renamed, of: "released")[2] == .null)
        #expect(try renamed.check { _, _ in } == [])
    }

    // MARK: What a review found, each as it was found

    /// After a removal and a conversion, slots are no longer the indices of attributes.
    @Test func valuesAreFoundBySlot() throws {
        let start = Self.book([
            AttributeDescription("old", .string), AttributeDescription("isbn", .string, isUnique: true),
            AttributeDescription("title", .string), AttributeDescription("note", .string),
        ])
        let container = try open(start)
        let context = container.newContext()
        context.isUndoEnabled = true
        let book = try context.insert("Book")
        for name in ["old", "isbn", "title", "note"] { book[name] = .string("\(name) 1") }
        try context.save()
        let changed = Self.book(
            [
                AttributeDescription("isbn", .string, isUnique: true), AttributeDescription("title", .string),
                AttributeDescription("note", .string),
            ], removed: ["old"])
        let other = try open(nil)
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
        #expect(try values(other, of: "title") == ["same"])
        #expect(try values(other, of: "note") == ["same"])
        try newer.execute(
            BatchUpdateRequest(entityName: "Book", predicate: nil, propertiesToUpdate: ["note": "batch"]))
        #expect(try values(other, of: "note") == ["batch"])
        // The context of the first program hears of it.
        book["title"] = "lost"
        #expect(throws: StoreError.self) { try context.save() }
        #expect(throws: StoreError.self) { try context.mergeChanges() }
    }

    @Test func anObservedObjectThatLacksASlotChangesElsewhere() throws {
        try fill(open(Self.first))
        let container = try open(
            Self.book([AttributeDescription("pages", .integer, isOptional: false, defaultValue: .integer(7))]))
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
        let container = try open(Self.first)
        let context = container.newContext()
        for number in 0..<400 {
            let book = try context.insert("Book")
            book["title"] = .string("\(number)")
            if number % 2 == 0 { book["price"] = .integer(Int64(number)) }
        }
        try context.save()
        #expect(try opened(container, "price") == .rebuilt(.first))
        let filled = Self.book([
            AttributeDescription("price", .integer, isOptional: false, defaultValue: .integer(-1))
        ])
        try container.migrate(to: filled)
        var request = FetchRequest<ManagedObject>(entityName: "Book")
        request.predicate = try FetchPredicate("price == -1")
        let newer = container.newContext()
        #expect(try newer.count(for: request) == 200)
        #expect(try newer.fetch(request).count == 200)
        #expect(try opened(container, "price") == .rebuilt(.modelChanged))
        #expect(try newer.count(for: request) == 200)
        #expect(try container.check { _, _ in } == [])
    }

    @Test func aClosureMayOnlyDecideWhatTheMigrationChanges() throws {
        let container = try open(Self.first)
        try fill(container)
        let more = Self.book([AttributeDescription("pages", .integer)])
        #expect(throws: StoreError.unknownAttribute(entity: "Book", attribute: "pagse")) {
            try container.migrate(to: more) { _, _ in ["pagse": 1] }
        }
        #expect(throws: StoreError.self) { try container.migrate(to: more) { _, _ in ["title": "x"] } }
        let context = container.newContext()
        let book = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Book")).first)
        try container.migrate(to: more) { _, old in ["pages": old["price"] ?? .null] }
        #expect(try values(container, of: "pages") == (0..<10).map { .integer($0 * 100) })
        // A context that read the records before would write them back.
        book["title"] = "stale"
        #expect(throws: StoreError.self) { try context.save() }
        #expect(try container.check { _, _ in } == [])
    }

    @Test func namesThatAreTakenOverAreRefusedToOlderPrograms() throws {
        let start = Self.book([AttributeDescription("a", .string), AttributeDescription("c", .string)])
        _ = try open(start)
        #expect(throws: StoreError.self) {
            try open(
                Self.book([
                    AttributeDescription("a", .string), AttributeDescription("b", .string, renamedFrom: "a"),
                ]))
        }
        _ = try open(
            Self.book([AttributeDescription("b", .string, renamedFrom: "a"), AttributeDescription("c", .string)]))
        _ = try open(Self.book([AttributeDescription("a", .string, renamedFrom: "c")]))
        #expect(throws: StoreError.self) { try open(start) }
    }

    /// A program whose declaration never changed anything is an older one all the same.
    @Test func aProgramThatOnlyReadIsKnownLater() throws {
        try fill(open(Self.first))
        let part = Self.book([AttributeDescription("price", .integer)])
        _ = try open(part)
        try open(nil).migrate(to: Self.book([AttributeDescription("price", .string)]))
        #expect(throws: StoreError.self) { try open(part, .automatic) }
        #expect(try open(nil).model().entity(named: "Book")?.attributes.map(\.type) == [.string, .string])
    }

    @Test func rowsOfBatchesAreMatchedByName() throws {
        let container = try open(Self.first)
        let turned = Self.book([
            AttributeDescription("price", .integer), AttributeDescription("title", .string, isOptional: false),
        ])
        let context = container.newContext()
        try context.execute(
            try BatchInsertRequest(entityName: "Book", objects: [["title": "t", "price": 5]], in: turned))
        #expect(try values(container, of: "title") == ["t"])
        #expect(try values(container, of: "price") == [.integer(5)])
    }

    @Test func conversionsThatLoseSomethingAreRefused() throws {
        let text = AttributeDescription("code", .string)
        let container = try open(Self.book([text]))
        let context = container.newContext()
        let book = try context.insert("Book")
        for (value, type, isKept) in [
            ("00712", ValueType.integer, false), ("712", .integer, true), ("1.50", .double, true),
            ("0.1234567890123456789", .double, false), ("x", .decimal, false), ("2.50", .decimal, true),
        ] {
            book["code"] = .string(value)
            try context.save()
            let folder = TemporaryFolder()
            _ = try container.backup(to: URL(fileURLWithPath: folder.path))
            let copy = try PersistentContainer(at: URL(fileURLWithPath: folder.path), durability: .none)
            var isDone = true
            do { try copy.migrate(to: Self.book([AttributeDescription("code", type)])) } catch StoreError.cannotMigrate
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
        let old = try open(Model(OldNote.self))
        let first = old.newContext()
        for number in 0..<5 {
            let note = OldNote(context: first)
            (note.text, note.stars) = ("note \(number)", number)
        }
        try first.save()
        for round in 0..<4 {
            let new = try open(Model(NewNote.self))
            let newer = new.newContext()
            for note in try newer.fetch(FetchRequest<NewNote>()) where note.stars == round {
                note.color = "blue \(round)"
            }
            NewNote(context: newer).body = "new \(round)"
            try newer.save()
            let olderContainer = try open(Model(OldNote.self))
            let older = olderContainer.newContext()
            for note in try older.fetch(FetchRequest<OldNote>()) where note.text.hasPrefix("note") { note.text += "!" }
            OldNote(context: older).text = "old \(round)"
            try older.save()
        }
        let last = try open(Model(NewNote.self)).newContext()
        let notes = try last.fetch(FetchRequest<NewNote>())
        #expect(notes.count == 13)
        #expect(notes.prefix(5).map(\.color) == ["blue 0", "blue 1", "blue 2", "blue 3", "red"])
        #expect(notes.prefix(5).map(\.body) == (0..<5).map { "note \($0)!!!!" })
        #expect(notes.dropFirst(5).map(\.body) == (0..<4).flatMap { ["new \($0)", "old \($0)"] })
        #expect(notes.dropFirst(5).allSatisfy { $0.color == "red" })
        #expect(try open(nil).check { _, _ in } == [])
    }

    // MARK: Series of random models

    /// An oracle that rewrites all values of all objects with each change.
    private struct Oracle {
        var attributes: [AttributeDescription]
        var rows: [[String: Value]] = []
        /// Names that were removed or that attributes had: a new attribute may not have them by a free change.
        var usedNames: Set<String> = []
        var nextName = 0

        mutating func freshName() -> String {
            nextName += 1
            return "a\(nextName)"
        }
    }

    private static func randomValue(_ type: ValueType, _ generator: inout SeededGenerator) -> Value {
        switch type {
        case .integer: .integer(.random(in: -50...50, using: &generator))
        case .double: .double(Double(Int.random(in: -50...50, using: &generator)) / 2)
        case .string: .string("\(Int.random(in: -50...50, using: &generator))")
        default: .boolean(.random(using: &generator))
        }
    }

    private static func converted(_ value: Value, to type: ValueType) -> Value? {
        switch (value, type) {
        case (.null, _): .null
        case (.integer(let number), .double): .double(Double(number))
        case (.integer(let number), .string): .string("\(number)")
        case (.double(let number), .integer): Int64(exactly: number).map(Value.integer)
        case (.double, .string): .string(value.description)
        case (.string(let text), .integer): Int64(text).map(Value.integer)
        case (.string(let text), .double): Double(text).map(Value.double)
        default: nil
        }
    }

    @Test(arguments: 1...(TestSettings.isLong ? 200 : 12))
    func seriesOfModelsAgreeWithAnOracle(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        let key = AttributeDescription("key", .integer, isOptional: false, isUnique: true)
        var oracle = Oracle(attributes: [key])
        var container = try open(Self.book(oracle.attributes))
        var live: ManagedObjectContext?
        for step in 0..<40 {
            let context: Comment = "seed \(seed), step \(step)"
            try change(&oracle, &container, &generator, context)
            try edit(&oracle, container, &generator)
            if step % 3 == 0 { container = try open(Self.book(oracle.attributes.shuffled(using: &generator))) }
            try expectSame(oracle, container, &generator, context)
            // A context that stays open reads what it read, or says that it cannot.
            if let live { do { try live.mergeChanges() } catch is StoreError {} }
            if step % 5 == 0 {
                let opened = container.newContext()
                _ = try opened.fetch(FetchRequest<ManagedObject>(entityName: "Book"))
                live = opened
            }
        }
        #expect(try container.check { _, _ in } == [], "seed \(seed)")
    }

    /// Makes one random change of the model.
    private func change(
        _ oracle: inout Oracle, _ container: inout PersistentContainer, _ generator: inout SeededGenerator,
        _ context: Comment
    ) throws {
        let types: [ValueType] = [.integer, .double, .string]
        let others = oracle.attributes.indices.dropFirst()
        let index = others.randomElement(using: &generator)
        switch (Int.random(in: 0..<6, using: &generator), index) {
        case (0, _), (1, _), (_, nil):
            let type = types.randomElement(using: &generator) ?? .integer
            let value = Bool.random(using: &generator) ? Self.randomValue(type, &generator) : .null
            let added = AttributeDescription(oracle.freshName(), type, isOptional: value.isNull, defaultValue: value)
            container = try open(Self.book([added]))
            oracle.attributes.append(added)
            for row in oracle.rows.indices { oracle.rows[row][added.name] = value }
        case (2, let index?):
            let old = oracle.attributes[index]
            let new = AttributeDescription(
                oracle.freshName(), old.type, isOptional: old.isOptional, renamedFrom: old.name)
            container = try open(Self.book([new]))
            oracle.attributes[index] = AttributeDescription(new.name, new.type, isOptional: new.isOptional)
            for row in oracle.rows.indices {
                oracle.rows[row][new.name] = oracle.rows[row].removeValue(forKey: old.name)
            }
        case (3, let index?):
            let removed = oracle.attributes.remove(at: index)
            container = try open(Self.book([key(of: oracle)], removed: [removed.name]))
            for row in oracle.rows.indices { oracle.rows[row][removed.name] = nil }
        case (4, let index?):
            let old = oracle.attributes[index]
            let type = types.filter { $0 != old.type }.randomElement(using: &generator) ?? .string
            let new = AttributeDescription(old.name, type, isOptional: old.isOptional)
            let values = oracle.rows.map { Self.converted($0[old.name] ?? .null, to: type) }
            guard values.allSatisfy({ $0 != nil }) else {
                #expect(throws: StoreError.self, context) { try container.migrate(to: Self.book([new])) }
                return
            }
            try container.migrate(to: Self.book([new]))
            oracle.attributes[index] = new
            for (row, value) in zip(oracle.rows.indices, values) { oracle.rows[row][old.name] = value ?? .null }
        case (_, let index?):
            let old = oracle.attributes[index]
            let new = AttributeDescription(old.name, old.type, isOptional: !old.isOptional)
            if old.isOptional && oracle.rows.contains(where: { $0[old.name] ?? .null == .null }) {
                #expect(throws: StoreError.self, context) { try container.migrate(to: Self.book([new])) }
                return
            }
            try container.migrate(to: Self.book([new]))
            oracle.attributes[index] = new
        }
    }

    private func key(of oracle: Oracle) -> AttributeDescription { oracle.attributes[0] }

    /// Inserts, updates and deletes some objects, of which each has all attributes or some.
    private func edit(
        _ oracle: inout Oracle, _ container: PersistentContainer, _ generator: inout SeededGenerator
    ) throws {
        let context = container.newContext()
        var next =
            (oracle.rows.compactMap { if case .integer(let key)? = $0["key"] { key } else { nil } }.max() ?? 0) + 1
        for _ in 0..<Int.random(in: 0...4, using: &generator) {
            let object = try context.insert("Book")
            var row: [String: Value] = [:]
            for attribute in oracle.attributes {
                row[attribute.name] = object[attribute.name]
                let isSet = !attribute.isOptional || Bool.random(using: &generator)
                if isSet { row[attribute.name] = Self.randomValue(attribute.type, &generator) }
            }
            row["key"] = .integer(next)
            next += 1
            for (name, value) in row { object[name] = value }
            oracle.rows.append(row)
        }
        let objects = try context.fetch(FetchRequest<ManagedObject>(entityName: "Book"))
        for object in objects
        where object.objectID.isTemporary == false && Int.random(in: 0..<4, using: &generator) == 0 {
            guard let row = oracle.rows.firstIndex(where: { $0["key"] == object["key"] }) else { continue }
            if Int.random(in: 0..<6, using: &generator) == 0 {
                context.delete(object)
                oracle.rows.remove(at: row)
                continue
            }
            guard let attribute = oracle.attributes.dropFirst().randomElement(using: &generator) else { continue }
            let value = Self.randomValue(attribute.type, &generator)
            object[attribute.name] = value
            oracle.rows[row][attribute.name] = value
        }
        try context.save()
    }

    private func expectSame(
        _ oracle: Oracle, _ container: PersistentContainer, _ generator: inout SeededGenerator, _ comment: Comment
    ) throws {
        let context = container.newContext()
        var request = FetchRequest<ManagedObject>(entityName: "Book")
        request.sortKeys = [SortKey("key")]
        let found = try context.fetch(request).map { object in
            Dictionary(uniqueKeysWithValues: oracle.attributes.map { ($0.name, object[$0.name]) })
        }
        let expected = oracle.rows.sorted { left, right in
            guard case .integer(let left)? = left["key"], case .integer(let right)? = right["key"] else { return false }
            return left < right
        }
        #expect(found == expected, comment)
        // A cache of a random attribute is right, whatever has become of its attribute since.
        guard let attribute = oracle.attributes.randomElement(using: &generator) else { return }
        request.sortKeys = [SortKey(attribute.name), SortKey("key")]
        let controller = try FetchedResultsController(
            fetchRequest: request, context: context, cacheName: "c\(Int.random(in: 0..<4, using: &generator))")
        try controller.performFetch()
        let keys = controller.fetchedObjects.map { $0.map { $0["key"] } } ?? []
        let memory = try FetchedResultsController(fetchRequest: request, context: context)
        try memory.performFetch()
        #expect(keys == memory.fetchedObjects.map { $0.map { $0["key"] } } ?? [], comment)
    }
}
