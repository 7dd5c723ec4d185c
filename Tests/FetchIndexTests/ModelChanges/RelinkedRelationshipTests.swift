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

    // MARK: Destinations

    private static func library(favorite: String, holder: String = "Shelf") -> Model {
        let relationship = [
            RelationshipDescription("favorite", toOne: favorite, inverse: "shelves", isOptional: true)
        ]
        let inverse = RelationshipDescription("shelves", toMany: holder, inverse: "favorite")
        func own(_ name: String) -> [RelationshipDescription] { name == favorite ? [inverse] : [] }
        func held(_ name: String) -> [RelationshipDescription] { name == holder ? relationship : [] }
        return Model(entities: [
            Entity("Work", [AttributeDescription("title", .string)], relationships: own("Work")),
            Entity("Tome", [], relationships: own("Tome"), superentity: "Work"),
            Entity("Person", [AttributeDescription("name", .string)], relationships: own("Person")),
            Entity("Place", [AttributeDescription("name", .string)], relationships: held("Place")),
            Entity("Shelf", [], relationships: held("Shelf"), superentity: "Place"),
        ])
    }

    private func favorites(_ container: PersistentContainer) throws -> [String] {
        let shelves = try container.newContext().fetch(FetchRequest<ManagedObject>(entityName: "Shelf"))
        return shelves.map { $0.relatedObject("favorite").map { "\($0.entity.name) \($0.objectID)" } ?? "-" }
    }

    @Test func aRelationshipLeadsToASuperentityOrASubentity() throws {
        let container = try store.open(Self.library(favorite: "Tome"))
        let context = container.newContext()
        for _ in 0..<3 { try context.insert("Shelf").relate("favorite", to: context.insert("Tome")) }
        try context.save()
        let all = ["Tome #1", "Tome #2", "Tome #3"]
        #expect(try favorites(container) == all)
        // The superentity has the other side's relationship now, which its subentity had.
        try container.migrate(to: Self.library(favorite: "Work").removing("shelves", of: []))
        #expect(try favorites(container) == all)
        #expect(try container.check { _, _ in } == [])
        let second = container.newContext()
        let shelf = try #require(try second.fetch(FetchRequest<ManagedObject>(entityName: "Shelf")).first)
        shelf.relate("favorite", to: try second.insert("Work"))
        try second.save()
        let back = Self.library(favorite: "Tome").removing("shelves", of: ["Work"])
        #expect(try container.plan(for: back).verdict == .pass)
        #expect(throws: StoreError.self) { try store.open(back, .automatic) }
        try container.migrate(to: back)
        #expect(try favorites(container) == ["-", "Tome #2", "Tome #3"])
        #expect(try container.check { _, _ in } == [])
    }

    @Test func aRelationshipMovesToTheSuperentityAndBack() throws {
        let container = try store.open(Self.library(favorite: "Work"))
        let context = container.newContext()
        for _ in 0..<3 { try context.insert("Shelf").relate("favorite", to: context.insert("Tome")) }
        try context.save()
        let all = ["Tome #1", "Tome #2", "Tome #3"]
        try container.migrate(to: Self.library(favorite: "Work", holder: "Place"))
        #expect(try favorites(container) == all)
        #expect(try container.check { _, _ in } == [])
        try container.migrate(to: Self.library(favorite: "Work").removing("favorite", of: ["Place"]))
        #expect(try favorites(container) == all)
        #expect(try container.model().entity(named: "Place")?.relationships == [])
        #expect(try container.check { _, _ in } == [])
    }

    @Test func aRelationshipThatLeadsToAnUnrelatedEntityLosesItsLinksOnlyOnDemand() throws {
        let container = try store.open(Self.library(favorite: "Work"))
        let context = container.newContext()
        try context.insert("Shelf").relate("favorite", to: context.insert("Tome"))
        try context.save()
        let other = Self.library(favorite: "Person").removing("shelves", of: ["Work", "Tome"])
        #expect(throws: StoreError.self) { try store.open(other, .automatic) }
        #expect(try favorites(container) == ["Tome #1"])
        let plan = try container.plan(for: other)
        #expect(plan.steps.map(\.reason).contains("its links are deleted, because it leads elsewhere"))
        try container.migrate(to: other)
        #expect(try favorites(container) == ["-"])
        #expect(try container.check { _, _ in } == [])
        let second = container.newContext()
        let shelf = try #require(try second.fetch(FetchRequest<ManagedObject>(entityName: "Shelf")).first)
        shelf.relate("favorite", to: try second.insert("Person"))
        try second.save()
        #expect(try favorites(container) == ["Person #1"])
    }
}

extension Model {
    /// The model with a property that some entities remove from the store.
    fileprivate func removing(_ name: String, of entities: Set<String>) -> Model {
        Model(
            entities: self.entities.map { entity in
                entities.contains(entity.name)
                    ? Entity(
                        entity.name, entity.attributes, relationships: entity.relationships, removed: [name],
                        superentity: entity.superentity) : entity
            })
    }
}
