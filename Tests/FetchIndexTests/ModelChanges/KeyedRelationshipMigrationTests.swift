import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// Migrations of unique constraints and indexes that include to-one relationships.
@Suite struct KeyedRelationshipMigrationTests {
    /// A store with books and writers, and models in which the entity Book can have unique constraints and indexes.
    private struct Versions {
        let folder = TemporaryFolder()

        func model(
            _ unique: [[String]] = [], indexes: [Index] = [], removed: [String] = [], removedIndexes: [Index] = [],
            named name: String = "writer", from former: String? = nil
        ) -> Model {
            let isGone = removed.contains("writer")
            let relation = RelationshipDescription(name, toOne: "Writer", inverse: "books", renamedFrom: former)
            return Model(entities: [
                Entity(
                    "Writer", [AttributeDescription("name", .string)],
                    relationships: isGone ? [] : [RelationshipDescription("books", toMany: "Book", inverse: name)],
                    removed: isGone ? ["books"] : []),
                Entity(
                    "Book", [AttributeDescription("title", .string)], relationships: isGone ? [] : [relation],
                    unique: unique, indexes: indexes, removed: removed, removedIndexes: removedIndexes),
            ])
        }

        @discardableResult
        func opened(_ model: Model) throws -> PersistentContainer {
            let container = try PersistentContainer(
                at: URL(fileURLWithPath: folder.path), model: model, migration: .automatic)
            #expect(try container.check { _, _ in } == [])
            return container
        }

        func addBook(_ title: String, by writer: ManagedObject, in context: ManagedObjectContext) throws {
            let book = try context.insert("Book")
            book["title"] = .string(title)
            book.relate("writer", to: writer)
        }
    }

    @Test func migrationsAddRenameAndRemoveUniqueConstraintsAndIndexes() throws {
        let versions = Versions()
        let context = try versions.opened(versions.model()).newContext()
        let writer = try context.insert("Writer")
        for number in 0..<300 { try versions.addBook("\(number)", by: context.insert("Writer"), in: context) }
        for title in ["a", "b", "b"] { try versions.addBook(title, by: writer, in: context) }
        try context.save()
        let unique = versions.model([["writer", "title"]], indexes: [Index(["writer", "title:desc"])])
        #expect(throws: StoreError.self, "two books of the writer have the same title") { try versions.opened(unique) }
        context.delete(try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Book")).last))
        try context.save()
        var container = try versions.opened(unique)
        let stored = try #require(try container.model().entity(named: "Book"))
        #expect(
            stored.uniqueAttributes == [["writer", "title"]]
                && stored.indexes.map(\.description) == ["writer,title:desc"])
        // An unchanged model needs no step.
        #expect(try container.plan(for: unique).steps.isEmpty)
        // A renamed relationship keeps its unique constraint and its index.
        container = try versions.opened(
            versions.model(
                [["author", "title"]], indexes: [Index(["author", "title:desc"])], named: "author", from: "writer"))
        let renamed = try #require(try container.model().entity(named: "Book"))
        #expect(
            renamed.uniqueAttributes == [["author", "title"]]
                && renamed.indexes.map(\.description) == ["author,title:desc"])
        let other = container.newContext()
        let again = try other.insert("Book")
        again["title"] = "a"
        again.relate("author", to: try other.existingObject(with: writer.objectID))
        #expect(throws: ValidationError.self) { try other.save() }
        let predicate = try FetchPredicate("author == %@ AND title == 'a'", again.relatedObject("author")?.objectID)
        #expect(try container.plan(OrderDefinition(entity: "Book", predicate: predicate)).rowsRead == 1)
        try other.rollback()
        // This model lacks the unique constraint, and asks for the removal of the index: both are removed.
        container = try versions.opened(
            versions.model(named: "author").removingLists(of: "Book", Index(["author", "title:desc"])))
        let plain = try #require(try container.model().entity(named: "Book"))
        #expect(plain.uniqueAttributes.isEmpty && plain.indexes.isEmpty)
    }

    @Test func removingARelationshipRemovesItsUniqueConstraintsAndIndexes() throws {
        let versions = Versions()
        let context = try versions.opened(
            versions.model([["writer"], ["writer", "title"]], indexes: [Index(["writer"])])
        ).newContext()
        let writer = try context.insert("Writer")
        try versions.addBook("a", by: writer, in: context)
        try context.save()
        try versions.addBook("b", by: writer, in: context)
        #expect(throws: ValidationError.self) { try context.save() }
        try context.rollback()
        let container = try versions.opened(versions.model(removed: ["writer"]))
        let book = try #require(try container.model().entity(named: "Book"))
        #expect(book.uniqueAttributes.isEmpty && book.indexes.isEmpty && book.relationships.isEmpty)
    }
}

extension Model {
    /// Returns the model without an entity's unique constraints and indexes. The returned model asks for the removal of
    /// `index`.
    fileprivate func removingLists(of name: String, _ index: Index) -> Model {
        Model(
            entities: entities.map { entity in
                guard entity.name == name else { return entity }
                return Entity(
                    entity.name, entity.attributes, relationships: entity.relationships, removedIndexes: [index])
            })
    }
}
