import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// `model migrate` renames and drops relationships, and changes their inverse relationships accordingly. A rename keeps
/// the links, a drop removes them.
@Suite struct RelationshipMigrationTests {
    private let tool: Tool

    private static let model = Model(entities: [
        Entity(
            "Author", [AttributeDescription("name", .string, isUnique: true)],
            relationships: [RelationshipDescription("books", toMany: "Book", inverse: "author", deleteRule: .cascade)]),
        Entity(
            "Book", [AttributeDescription("title", .string)],
            relationships: [
                RelationshipDescription("author", toOne: "Author", inverse: "books"),
                RelationshipDescription("tags", toMany: "Tag", inverse: "books", ordered: true),
                RelationshipDescription("sequel", toOne: "Book", inverse: "prequel"),
                RelationshipDescription("prequel", toOne: "Book", inverse: "sequel"),
            ]),
        Entity("Novel", [], superentity: "Book"),
        Entity(
            "Tag", [AttributeDescription("name", .string)],
            relationships: [RelationshipDescription("books", toMany: "Book", inverse: "tags")]),
    ])

    init() throws {
        tool = try Tool()
        let container = try PersistentContainer(at: URL(fileURLWithPath: tool.store), model: Self.model)
        let context = container.newContext()
        let (author, tag) = (try context.insert("Author"), try context.insert("Tag"))
        author["name"] = "a"
        tag["name"] = "t"
        let books = try (1...3).map { number in
            let book = try context.insert(number == 3 ? "Novel" : "Book")
            book["title"] = .string("book \(number)")
            book.relate("author", to: author)
            return book
        }
        books[1].relatedObjects("tags").insert(tag)
        books[2].relatedObjects("tags").insert(tag)
        books[0].relate("sequel", to: books[2])
        try context.save()
    }

    private func migrate(_ entity: String, _ options: String...) throws -> Tool.Result {
        try tool.run(["model", "migrate", tool.store, "--entity", entity] + options)
    }

    private func outcome(_ options: [String]) throws -> String? {
        (try tool.run(["fetch", tool.store] + options)["outcome"] as? [String: Any])?["kind"] as? String
    }

    private func titles(_ predicate: String) throws -> [String] {
        try tool.rows("--entity", "Book", "--sort", "title", "--where", predicate).compactMap { $0["title"] as? String }
    }

    private func relationships() throws -> [String: [String]] {
        let model = try PersistentContainer(at: URL(fileURLWithPath: tool.store)).model()
        return Dictionary(
            uniqueKeysWithValues: model.entities.map { entity in
                (entity.name, entity.relationships.map { "\($0.name)-\($0.inverse ?? "")" }.sorted())
            })
    }

    @Test func aRenamedRelationshipKeepsItsLinksAndItsCaches() throws {
        let open = ["--entity", "Book", "--sort", "author.name,title", "--cache", "c", "--output", "json"]
        #expect(try outcome(open) == "rebuilt")
        for (entity, change) in [
            ("Book", "author=writer"), ("Author", "books=works"), ("Book", "sequel=next"), ("Book", "tags=labels"),
        ] {
            let result = try migrate(entity, "--rename", change)
            #expect(result.status == 0, "\(change): \(result.error)")
        }
        #expect(
            try relationships() == [
                "Author": ["works-writer"], "Tag": ["books-labels"],
                "Book": ["labels-books", "next-prequel", "prequel-next", "writer-works"],
                "Novel": ["labels-books", "next-prequel", "prequel-next", "writer-works"],
            ])
        #expect(try titles("writer.name == 'a'").count == 3)
        #expect(try titles("ANY labels.name == 't'") == ["book 2", "book 3"])
        #expect(try titles("next.title == 'book 3'") == ["book 1"])
        #expect(try titles("prequel != NIL") == ["book 3"])
        let again = open.map { $0 == "author.name,title" ? "writer.name,title" : $0 }
        #expect(try outcome(again) == "hit")
        #expect(try tool.run("check", tool.store).status == 0)
        // The delete rule is kept.
        let context = try PersistentContainer(at: URL(fileURLWithPath: tool.store)).newContext()
        let author = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Author")).first)
        context.delete(author)
        try context.save()
        #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Book")) == 0)
    }

    @Test func droppingARelationshipRemovesItsInverse() throws {
        let open = ["fetch", tool.store, "--entity", "Book", "--sort", "author.name", "--cache", "c"]
        #expect(try tool.run(open).status == 0)
        for (entity, name) in [("Author", "books"), ("Book", "tags"), ("Book", "prequel")] {
            let result = try migrate(entity, "--drop", name)
            #expect(result.status == 0, "\(name): \(result.error)")
        }
        #expect(try relationships() == ["Author": [], "Book": [], "Novel": [], "Tag": []])
        #expect(try titles("title != 'book 2'") == ["book 1", "book 3"])
        let gone = try tool.run(open)
        #expect(gone.status == 2 && gone.error.contains("author"), "\(gone.error)")
        #expect(try tool.run("check", tool.store).status == 0)
    }

    @Test func relationshipsAndAttributesMigrateTogether() throws {
        let result = try migrate(
            "Book", "--rename", "author=writer", "--rename", "title=name", "--drop", "tags", "--add", "pages:integer=1")
        #expect(result.status == 0, "\(result.error)")
        #expect(try relationships()["Novel"] == ["prequel-sequel", "sequel-prequel", "writer-books"])
        let rows = try tool.rows("--entity", "Book", "--where", "writer.name == 'a' AND pages == 1", "--sort", "name")
        #expect(rows.compactMap { $0["name"] as? String } == ["book 1", "book 2", "book 3"])
        #expect(try tool.run("check", tool.store).status == 0)
    }

    @Test(arguments: [
        (["--rename", "author=tags"], "tags"), (["--rename", "author=title"], "title"),
        (["--drop", "author", "--rename", "author=writer"], "author"), (["--drop", "writer"], "writer"),
    ]) func anInvalidMigrationIsReportedAndLeavesTheModelUnchanged(options: [String], named: String) throws {
        let before = try relationships()
        let result = try tool.run(["model", "migrate", tool.store, "--entity", "Book"] + options)
        #expect(result.status != 0, "\(result.error)")
        #expect(result.error.contains("fetchindex: ") && result.error.contains(named), "\(result.error)")
        #expect(try relationships() == before)
        #expect(try tool.run("check", tool.store).status == 0)
    }

    /// An inherited relationship can only be changed in the superentity.
    @Test func anInheritedRelationshipIsNotDroppedFromASubentity() throws {
        let result = try migrate("Novel", "--drop", "author")
        #expect(result.status != 0 && result.error.contains("Novel inherits author from Book"), "\(result.error)")
    }
}
