import FetchIndex
import FetchIndexTestSupport
import Testing

/// Relationships that are added to stored models, renamed or removed, and invalid relationships.
@Suite struct RelationshipModelTests {
    let store = ModelStore()

    static func model(
        _ book: [RelationshipDescription] = [], _ author: [RelationshipDescription] = [], removed: [String] = [],
        removedOfAuthor: [String] = []
    ) -> Model {
        Model(entities: [
            Entity("Book", [AttributeDescription("title", .string)], relationships: book, removed: removed),
            Entity("Author", [AttributeDescription("name", .string)], relationships: author, removed: removedOfAuthor),
        ])
    }

    private static let plain = model()
    private static let related = model(
        [RelationshipDescription("author", toOne: "Author", inverse: "books")],
        [RelationshipDescription("books", toMany: "Book", inverse: "author")])
    static let tagged = model(
        [RelationshipDescription("authors", toMany: "Author", inverse: "books")],
        [RelationshipDescription("books", toMany: "Book", inverse: "authors")])

    func fill(
        _ container: PersistentContainer, _ body: (ManagedObject, ManagedObject) -> Void = { _, _ in }
    )
        throws
    {
        let context = container.newContext()
        for number in 0..<3 {
            let (book, author) = (try context.insert("Book"), try context.insert("Author"))
            (book["title"], author["name"]) = (.string("book \(number)"), .string("author \(number)"))
            body(book, author)
        }
        try context.save()
    }

    func objects(_ entity: String, _ container: PersistentContainer) throws -> (
        ManagedObjectContext, [ManagedObject]
    ) {
        let context = container.newContext()
        return (context, try context.fetch(FetchRequest<ManagedObject>(entityName: entity)))
    }

    func requireWhole(_ container: PersistentContainer) throws {
        #expect(try container.check { _, _ in } == [])
    }

    @Test func addingARelationshipKeepsCachesCurrent() throws {
        try fill(store.open(Self.plain))
        #expect(try store.opened(store.open(nil), "title") == .rebuilt(.first))
        let container = try store.open(Self.related)
        #expect(try store.opened(container, "title") == .hit)
        let (context, books) = try objects("Book", container)
        let authors = try context.fetch(FetchRequest<ManagedObject>(entityName: "Author"))
        #expect(books.allSatisfy { $0.relatedObject("author") == nil })
        books[0].relate("author", to: authors[1])
        authors[1].relatedObjects("books").insert(books[2])
        try context.save()
        // Edits by a program that doesn't declare the relationship keep its links.
        let older = try store.open(Self.plain)
        let (second, seen) = try objects("Book", older)
        for book in seen { book["title"] = "new" }
        try second.save()
        #expect(try second.execute(BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["title": "x"])) == 3)
        try context.mergeChanges()
        #expect(Array(authors[1].relatedObjects("books")) == [books[0], books[2]])
        #expect(books[2]["title"] == "x" && books[2].relatedObject("author") === authors[1])
        try requireWhole(container)
    }

    @Test func aRenamedRelationshipKeepsItsLinks() throws {
        let first = try store.open(Self.related)
        try fill(first) { $0.relate("author", to: $1) }
        let renamed = Self.model(
            [RelationshipDescription("writer", toOne: "Author", inverse: "works", renamedFrom: "author")],
            [RelationshipDescription("works", toMany: "Book", inverse: "writer", renamedFrom: "books")])
        let container = try store.open(renamed)
        let (context, books) = try objects("Book", container)
        #expect(!context.hasChanges)
        for book in books {
            #expect(book.relatedObject("writer").map { Array($0.relatedObjects("works")) } == [book])
            // The former name still works.
            #expect(book.relatedObject("author") === book.relatedObject("writer"))
        }
        #expect(throws: Never.self) { _ = try store.open(Self.related) }
        try requireWhole(container)
    }

    @Test func aRemovedRelationshipLosesItsLinks() throws {
        try fill(store.open(Self.related)) { $0.relate("author", to: $1) }
        let removed = Self.model(removed: ["author"], removedOfAuthor: ["books"])
        #expect(throws: StoreError.self) { try store.open(removed) }
        let container = try store.open(removed, .automatic)
        try requireWhole(container)
        #expect(try container.model().entities.allSatisfy(\.relationships.isEmpty))
        #expect(throws: StoreError.self) { try store.open(Self.related) }
        let (context, books) = try objects("Book", container)
        context.delete(books[0])
        try context.save()
        try requireWhole(container)
    }

    @Test func aRemovedManyToManyRelationshipLosesItsLinks() throws {
        let first = try store.open(Self.tagged)
        try fill(first) { $0.relatedObjects("authors").insert($1) }
        #expect(try first.model().entities.map(\.name) == ["Book", "Author"])
        let removed = Self.model(removed: ["authors"], removedOfAuthor: ["books"])
        let container = try store.open(removed, .automatic)
        try requireWhole(container)
        let (context, books) = try objects("Book", container)
        context.delete(books[0])
        try context.save()
        // A new relationship between the same entities may have other names.
        let other = Self.model(
            [RelationshipDescription("writers", toMany: "Author", inverse: "works")],
            [RelationshipDescription("works", toMany: "Book", inverse: "writers")])
        let reopened = try store.open(other)
        let (second, rest) = try objects("Book", reopened)
        let author = try #require(try second.fetch(FetchRequest<ManagedObject>(entityName: "Author")).last)
        rest[0].relatedObjects("writers").insert(author)
        try second.save()
        #expect(Array(author.relatedObjects("works")) == [rest[0]])
        try requireWhole(reopened)
    }

    @Test func aRelationshipBecomesRequiredOnlyIfAllObjectsHaveLinks() throws {
        try fill(store.open(Self.plain))
        let required = Self.model(
            [RelationshipDescription("author", toOne: "Author", inverse: "books", isOptional: false)],
            [RelationshipDescription("books", toMany: "Book", inverse: "author")])
        let error = #expect(throws: StoreError.self) { try store.open(required, .automatic) }
        #expect(error.map { "\($0)" }?.contains("existing objects have no related object") == true)
        // The migration succeeds once all books have an author.
        let container = try store.open(Self.related)
        let (context, books) = try objects("Book", container)
        let author = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Author")).first)
        for book in books.dropLast() { book.relate("author", to: author) }
        try context.save()
        #expect(throws: StoreError.self) { try store.open(required, .automatic) }
        books[2].relate("author", to: author)
        try context.save()
        let reopened = try store.open(required, .automatic)
        let (second, seen) = try objects("Author", reopened)
        second.delete(seen[0])
        #expect(throws: ValidationError.self) { try second.save() }
        try second.rollback()
        #expect(throws: StoreError.self) { try second.execute(BatchDeleteRequest(entityName: "Author")) }
        try requireWhole(reopened)
    }

    @Test func anEntityIsDroppedTogetherWithItsRelationships() throws {
        let container = try store.open(Self.related)
        try fill(container) { $0.relate("author", to: $1) }
        #expect(try container.dropEntity(named: "Author") == 3)
        try requireWhole(container)
        let (_, books) = try objects("Book", store.open(Self.plain.withoutAuthors))
        #expect(books.count == 3 && books.allSatisfy { $0.entity.relationships.isEmpty })
    }

    @Test func aProgramThatOnlyReplacesARelationshipOfThatNameIsRefused() throws {
        try fill(store.open(Self.related))
        #expect(throws: StoreError.self) { try store.open(Self.tagged, .automatic) }
        #expect(throws: StoreError.self) {
            try store.open(
                Self.model(
                    [RelationshipDescription("author", toMany: "Author", inverse: "books")],
                    [RelationshipDescription("books", toMany: "Book", inverse: "author")]))
        }
    }

    @Test func invalidRelationshipsAreRefusedWithAReason() throws {
        func reason(_ book: [RelationshipDescription], _ author: [RelationshipDescription] = []) -> String? {
            let error = #expect(throws: StoreError.self) { try store.open(Self.model(book, author)) }
            if case .invalidModel(let reason)? = error { return reason }
            return nil
        }
        #expect(
            reason([RelationshipDescription("author", toOne: "Writer")])
                == "Book.author leads to Writer, which is not in the model")
        #expect(
            reason([RelationshipDescription("author", toOne: "Author", inverse: "books")])
                == "Book.author has the inverse Author.books, which is not in the model: declare it, with the inverse author"
        )
        #expect(
            reason([RelationshipDescription("title", toOne: "Author")])
                == "Book.title is both an attribute and a relationship")
        #expect(
            reason(
                [RelationshipDescription("author", toOne: "Author", inverse: "books")],
                [RelationshipDescription("books", toMany: "Book", inverse: "editor")])
                == "Book.author has the inverse Author.books, whose inverse is Book.editor")
    }

    @Test func subentitiesInheritRelationships() throws {
        let model = Model(entities: [
            Entity(
                "Author", [AttributeDescription("name", .string)],
                relationships: [
                    RelationshipDescription("books", toMany: "Work", inverse: "author", deleteRule: .cascade)
                ]),
            Entity(
                "Work", [AttributeDescription("title", .string)],
                relationships: [RelationshipDescription("author", toOne: "Author", inverse: "books")],
                isAbstract: true),
            Entity("Tome", [AttributeDescription("pages", .integer)], superentity: "Work"),
            Entity("Issue", [AttributeDescription("number", .integer)], superentity: "Work"),
            Entity("Pseudonym", [], superentity: "Author"),
        ])
        let container = try store.open(model)
        let context = container.newContext()
        let (author, pseudonym) = (try context.insert("Author"), try context.insert("Pseudonym"))
        let works = try ["Tome", "Issue", "Tome"].map { try context.insert($0) }
        works[0].relate("author", to: author)
        author.relatedObjects("books").insert(works[1])
        works[2].relate("author", to: pseudonym)
        try context.save()
        #expect(Set(author.relatedObjects("books")) == [works[0], works[1]])
        #expect(Array(pseudonym.relatedObjects("books")) == [works[2]])
        // A subentity that is added later has the relationship too.
        let more = Model(entities: model.entities + [Entity("Box", [], superentity: "Tome")])
        let reopened = try store.open(more)
        let second = reopened.newContext()
        let box = try second.insert("Box")
        let seen = try second.existingObject(with: author.objectID)
        box.relate("author", to: seen)
        try second.save()
        #expect(seen.relatedObjects("books").count == 3)
        second.delete(seen)
        try second.save()
        #expect(try second.count(for: FetchRequest<ManagedObject>(entityName: "Work")) == 1)
        try requireWhole(reopened)
    }
}

extension Model {
    fileprivate var withoutAuthors: Model { Model(entities: entities.filter { $0.name != "Author" }) }
}
