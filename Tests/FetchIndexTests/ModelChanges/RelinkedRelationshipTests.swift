import FetchIndex
import FetchIndexModels
import FetchIndexTestSupport
import FetchIndexValues
import Testing

/// Relationships that lead to many objects instead of one, to one instead of many, or to objects of another entity.
@Suite struct RelinkedRelationshipTests {
    let store = ModelStore()

    /// The numbers of related objects on each side of Book.authors and Author.books; nil for no inverse.
    enum Kind: CaseIterable { case oneToOne, manyToOne, oneToMany, manyToMany, oneWay }

    private struct Link: Hashable, Comparable {
        let book: UInt64
        let author: UInt64

        static func < (left: Link, right: Link) -> Bool { (left.book, left.author) < (right.book, right.author) }
    }

    private static func model(_ kind: Kind, isOrdered: Bool = false, isOptional: Bool = true) -> Model {
        let isToMany = kind == .oneToMany || kind == .manyToMany
        let isInverseToMany = kind == .manyToOne || kind == .manyToMany
        let inverse = kind == .oneWay ? nil : "books"
        let authors =
            isToMany
            ? RelationshipDescription("authors", toMany: "Author", inverse: "books", ordered: isOrdered)
            : RelationshipDescription("authors", toOne: "Author", inverse: inverse, isOptional: isOptional)
        let books =
            isInverseToMany
            ? RelationshipDescription("books", toMany: "Book", inverse: "authors", ordered: isOrdered)
            : RelationshipDescription("books", toOne: "Book", inverse: "authors")
        return Model(entities: [
            Entity(
                "Book", [AttributeDescription("title", .string)], relationships: [authors],
                removed: kind == .oneWay ? [] : ["gone"]),
            Entity(
                "Author", [AttributeDescription("name", .string)], relationships: kind == .oneWay ? [] : [books],
                removed: kind == .oneWay ? ["books"] : []),
            Entity("Essay", [], superentity: "Book"),
        ])
    }

    private func links(_ container: PersistentContainer) throws -> [Link] {
        let books = try container.newContext().fetch(FetchRequest<ManagedObject>(entityName: "Book"))
        return books.flatMap { book in
            let isToMany = book.entity.relationships.first { $0.name == "authors" }?.isToMany ?? false
            let authors =
                isToMany ? Array(book.relatedObjects("authors")) : book.relatedObject("authors").map { [$0] } ?? []
            let number = book.objectID.number + (book.entity.name == "Essay" ? 1000 : 0)
            return authors.map { Link(book: number, author: $0.objectID.number) }
        }
    }

    /// Relates random objects as far as both kinds allow it, so that no link must be lost.
    private func fill(_ container: PersistentContainer, _ kinds: [Kind], _ generator: inout SeededGenerator) throws {
        let context = container.newContext()
        let books = try (0..<12).map { try context.insert($0 % 3 == 0 ? "Essay" : "Book") }
        let authors = try (0..<8).map { _ in try context.insert("Author") }
        let isToOne = kinds.contains { $0 != .oneToMany && $0 != .manyToMany }
        let isInverseToOne = kinds.contains { $0 == .oneToOne || $0 == .oneToMany }
        var usedBooks: Set<Int> = []
        var usedAuthors: Set<Int> = []
        for _ in 0..<30 {
            let book = Int.random(in: 0..<12, using: &generator)
            let author = Int.random(in: 0..<8, using: &generator)
            if isToOne && !usedBooks.insert(book).inserted || isInverseToOne && !usedAuthors.insert(author).inserted {
                continue
            }
            switch kinds[0] {
            case .oneToMany, .manyToMany: books[book].relatedObjects("authors").insert(authors[author])
            default: books[book].relate("authors", to: authors[author])
            }
        }
        try context.save()
    }

    @Test(arguments: Kind.allCases, Kind.allCases)
    func linksAreKept(from old: Kind, to new: Kind) throws {
        let seed = UInt64.random(in: 0..<1000)
        var generator = SeededGenerator(seed: seed)
        let store = ModelStore()
        let container = try store.open(Self.model(old))
        try fill(container, [old, new], &generator)
        let before = try links(container).sorted()
        #expect(!before.isEmpty, "seed \(seed)")
        try #expect(store.opened(container, "title") == .rebuilt(.first))
        let migrated = try store.open(Self.model(new), .automatic)
        #expect(try links(migrated).sorted() == before, "seed \(seed)")
        #expect(try migrated.check { _, _ in } == [], "seed \(seed)")
        // What doesn't read the relationship stays usable.
        let outcome = try store.opened(migrated, "title")
        if case .rebuilt = outcome { Issue.record("\(outcome)") }
        let back = try store.open(nil)
        try back.migrate(to: Self.model(old))
        #expect(try links(back).sorted() == before, "seed \(seed)")
        #expect(try back.check { _, _ in } == [], "seed \(seed)")
    }

    /// The caches' requests can be read and parsed after each migration.
    @Test func cachesThatReadTheRelationshipAreBuiltAgain() throws {
        let container = try store.open(Self.model(.manyToOne))
        var generator = SeededGenerator(seed: 2)
        try fill(container, [.manyToOne, .manyToMany], &generator)
        func open() throws -> [FetchOutcome] {
            try ["ANY books.title == nil", "books.@count > 0", "SUBQUERY(books, $b, $b.authors != nil).@count > 0"].map
            {
                var request = FetchRequest<ManagedObject>(entityName: "Author", predicate: try FetchPredicate($0))
                request.sortKeys = [SortKey("name")]
                let controller = try FetchedResultsController(
                    fetchRequest: request, context: container.newContext(), cacheName: $0)
                return try controller.performFetch()
            }
        }
        #expect(try open().allSatisfy { $0 == .rebuilt(.first) })
        for kind in [Kind.manyToMany, .manyToOne, .manyToMany] {
            try container.migrate(to: Self.model(kind))
            #expect(try container.check { _, _ in } == [], "\(kind)")
            #expect(try open().allSatisfy { $0 == .rebuilt(.modelChanged) }, "\(kind)")
            #expect(try open().allSatisfy { $0 == .hit }, "\(kind)")
            #expect(try container.namedCaches().allSatisfy { $0.contents?.request.predicate == $0.name }, "\(kind)")
        }
    }

    @Test func aFormerNameLastsWhenTheRelationshipChanges() throws {
        let container = try store.open(Self.model(.manyToOne))
        var generator = SeededGenerator(seed: 3)
        try fill(container, [.manyToOne], &generator)
        let entities = Self.model(.manyToMany).entities.map { entity in
            Entity(
                entity.name, entity.attributes,
                relationships: entity.relationships.map { relationship in
                    relationship.name == "authors"
                        ? RelationshipDescription(
                            "writers", toMany: "Author", inverse: "books", renamedFrom: "authors")
                        : RelationshipDescription("books", toMany: "Book", inverse: "writers")
                }, removed: ["gone"], superentity: entity.superentity)
        }
        try container.migrate(to: Model(entities: entities))
        for name in ["authors", "writers"] {
            let predicate = try FetchPredicate("ANY \(name).name == nil")
            let request = FetchRequest<ManagedObject>(entityName: "Book", predicate: predicate)
            #expect(try container.newContext().count(for: request) > 0, "\(name)")
        }
    }

    @Test func thePlanSaysThatTheUniquenessOfARelationshipGoes() throws {
        func model(_ kind: Kind) -> Model {
            Model(
                entities: Self.model(kind).entities.map { entity in
                    entity.name == "Author" || kind != .manyToOne
                        ? entity
                        : Entity(
                            entity.name, entity.attributes, relationships: entity.relationships,
                            unique: [["authors", "title"]], superentity: entity.superentity)
                })
        }
        let container = try store.open(model(.manyToOne))
        let steps = try container.plan(for: model(.manyToMany)).steps.map(\.change)
        #expect(steps.contains(.removeUniqueness(["authors", "title"])))
    }

    @Test func thePlanSaysWhatBecomesOfTheLinks() throws {
        let container = try store.open(Self.model(.manyToOne))
        func plan(_ kind: Kind) throws -> [String] {
            try container.plan(for: Self.model(kind)).steps.map(\.description)
        }
        #expect(
            try plan(.manyToMany) == [
                "Book: lead authors to many of Author (free: it has no objects)",
                "Author: lead books to many of Book (free: it has no objects)",
            ])
        var generator = SeededGenerator(seed: 1)
        try fill(container, [.manyToOne], &generator)
        #expect(
            try plan(.manyToMany) == [
                "Book: lead authors to many of Author (pass: its links are stored anew)",
                "Author: lead books to many of Book (pass: its links are stored anew)",
            ])
        #expect(try plan(.manyToOne) == [])
        #expect(throws: StoreError.self) { try store.open(Self.model(.manyToMany)) }
    }

    @Test func anObjectThatWouldHaveSeveralRelatedObjectsInsteadOfOneStopsTheMigration() throws {
        let container = try store.open(Self.model(.manyToMany))
        let context = container.newContext()
        let (book, other) = (try context.insert("Book"), try context.insert("Book"))
        for _ in 0..<2 { book.relatedObjects("authors").insert(try context.insert("Author")) }
        other.relatedObjects("authors").insert(try #require(Array(book.relatedObjects("authors")).first))
        try context.save()
        let before = try links(container)
        for (kind, attribute) in [(Kind.manyToOne, "authors"), (.oneToMany, "books"), (.oneToOne, "books")] {
            let error = #expect(throws: StoreError.self) { try container.migrate(to: Self.model(kind)) }
            guard case .cannotMigrate(_, attribute, _, let objects)? = error else {
                Issue.record("\(kind): \(error.map { "\($0)" } ?? "no error")")
                continue
            }
            #expect(objects.count == 1)
        }
        #expect(try links(container) == before)
        #expect(try container.check { _, _ in } == [])
    }

    @Test func theOrderOfRelatedObjectsIsKept() throws {
        let container = try store.open(Self.model(.oneToMany, isOrdered: true))
        let context = container.newContext()
        let book = try context.insert("Book")
        let authors = try (0..<5).map { _ in try context.insert("Author") }
        for number in [3, 1, 4, 0, 2] { book.relatedObjects("authors").insert(authors[number]) }
        try context.save()
        let before = try links(container)
        #expect(before.map(\.author) == [4, 2, 5, 1, 3])
        try container.migrate(to: Self.model(.manyToMany, isOrdered: true))
        #expect(try links(container) == before)
        try container.migrate(to: Self.model(.oneToMany, isOrdered: true))
        #expect(try links(container) == before)
        #expect(try container.check { _, _ in } == [])
    }

    @Test func aRequiredRelationshipStaysRequired() throws {
        let container = try store.open(Self.model(.oneToOne, isOptional: false))
        let context = container.newContext()
        for _ in 0..<3 { try context.insert("Book").relate("authors", to: context.insert("Author")) }
        try context.save()
        let before = try links(container)
        try container.migrate(to: Self.model(.manyToOne, isOptional: false))
        #expect(try links(container) == before)
        #expect(try container.model().entity(named: "Book")?.relationships.first?.isOptional == false)
        #expect(try container.check { _, _ in } == [])
        try container.migrate(to: Self.model(.manyToMany))
        let lonely = container.newContext()
        _ = try lonely.insert("Book")
        try lonely.save()
        #expect(throws: StoreError.self) { try container.migrate(to: Self.model(.manyToOne, isOptional: false)) }
        #expect(try links(container) == before)
    }

    /// One join would hold the links of both.
    @Test func twoSidesDoNotBecomeTheirOwnInverses() throws {
        func model(_ inverse: (String, String), _ isToMany: Bool) -> Model {
            let sides = [("f", inverse.0), ("g", inverse.1)].map { name, inverse in
                isToMany
                    ? RelationshipDescription(name, toMany: "Person", inverse: inverse)
                    : RelationshipDescription(name, toOne: "Person", inverse: inverse)
            }
            return Model(entities: [Entity("Person", [], relationships: sides)])
        }
        for isToMany in [true, false] {
            for (old, new) in [(("f", "g"), ("g", "f")), (("g", "f"), ("f", "g"))] {
                let container = try PersistentContainer(temporaryWith: model(old, isToMany))
                let error = #expect(throws: StoreError.self) { try container.migrate(to: model(new, isToMany)) }
                #expect("\(String(describing: error))".contains("gets another inverse"))
            }
        }
    }

    /// A relationship with two sides becomes its own inverse, and has two sides again.
    @Test(arguments: [true, false]) func aRelationshipBecomesItsOwnInverse(isToMany: Bool) throws {
        func side(_ name: String, _ inverse: String) -> RelationshipDescription {
            isToMany
                ? RelationshipDescription(name, toMany: "Person", inverse: inverse)
                : RelationshipDescription(name, toOne: "Person", inverse: inverse)
        }
        func model(_ sides: [RelationshipDescription], removed: [String] = []) -> Model {
            Model(entities: [
                Entity("Person", [AttributeDescription("name", .string)], relationships: sides, removed: removed)
            ])
        }
        let two = model([side("friends", "friendOf"), side("friendOf", "friends")])
        let container = try store.open(two)
        let context = container.newContext()
        let people = try (0..<4).map { _ in try context.insert("Person") }
        func relate(_ one: Int, _ other: Int) {
            if isToMany {
                people[one].relatedObjects("friends").insert(people[other])
            } else {
                people[one].relate("friends", to: people[other])
            }
        }
        relate(0, 1)
        relate(2, 3)
        if isToMany { relate(1, 2) }
        try context.save()
        func friends(_ name: String = "friends") throws -> [[UInt64]] {
            try container.newContext().fetch(FetchRequest<ManagedObject>(entityName: "Person")).map { one in
                let all = isToMany ? Array(one.relatedObjects(name)) : one.relatedObject(name).map { [$0] } ?? []
                return all.map(\.objectID.number).sorted()
            }
        }
        let own = model([side("friends", "friends")], removed: ["friendOf"])
        try container.migrate(to: own)
        let wanted: [[UInt64]] = isToMany ? [[2], [1, 3], [2, 4], [3]] : [[2], [1], [4], [3]]
        #expect(try friends() == wanted)
        #expect(try container.check { _, _ in } == [])
        try container.migrate(to: model([side("friends", "friendOf"), side("friendOf", "friends")]))
        #expect(try friends() == wanted && friends("friendOf") == wanted)
        #expect(try container.check { _, _ in } == [])
    }
}
