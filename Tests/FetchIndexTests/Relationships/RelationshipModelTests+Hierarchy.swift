import FetchIndex
import FetchIndexTestSupport
import Testing

extension RelationshipModelTests {
    @Test func aNewInverseKeepsTheLinksOfTheInverseThatItReplaces() throws {
        try fill(store.open(Self.tagged)) { $0.relatedObjects("authors").insert($1) }
        let replaced = Self.model(
            [RelationshipDescription("authors", toMany: "Author", inverse: "works")],
            [RelationshipDescription("works", toMany: "Book", inverse: "authors")], removedOfAuthor: ["books"])
        let container = try store.open(replaced, .automatic)
        let (context, books) = try objects("Book", container)
        let author = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Author")).first)
        #expect(Array(author.relatedObjects("works")) == [books[0]])
        author.relatedObjects("works").insert(books[2])
        try context.save()
        #expect(books[2].relatedObjects("authors").count == 2)
        try requireWhole(container)
    }

    @Test func aDeletionRemovesLinksOfARelationshipThatMovedIntoTheSuperentity() throws {
        func model(_ isAbove: Bool) -> Model {
            let related = [RelationshipDescription("author", toOne: "Author")]
            return Model(entities: [
                Entity("Work", [AttributeDescription("title", .string)], relationships: isAbove ? related : []),
                Entity("Tome", [], relationships: related, superentity: "Work"),
                Entity("Author", [AttributeDescription("name", .string)]),
            ])
        }
        let first = try store.open(model(false))
        let context = first.newContext()
        let (tome, author) = (try context.insert("Tome"), try context.insert("Author"))
        tome.relate("author", to: author)
        try context.save()
        let container = try store.open(model(true), .automatic)
        try requireWhole(container)
        let second = container.newContext()
        second.delete(try second.existingObject(with: author.objectID))
        try second.save()
        #expect(try second.existingObject(with: tome.objectID).relatedObject("author") == nil)
        try requireWhole(container)
    }

    @Test func droppingASubentityRemovesLinksToItsObjects() throws {
        let model = Model(entities: [
            Entity("Work", [AttributeDescription("title", .string)]), Entity("Tome", [], superentity: "Work"),
            Entity(
                "Shelf", [AttributeDescription("name", .string)],
                relationships: [
                    RelationshipDescription("favorite", toOne: "Work"),
                    RelationshipDescription("next", toMany: "Shelf", inverse: "previous"),
                    RelationshipDescription("previous", toMany: "Shelf", inverse: "next"),
                ]),
        ])
        let container = try store.open(model)
        let context = container.newContext()
        let (shelf, tome) = (try context.insert("Shelf"), try context.insert("Tome"))
        shelf.relate("favorite", to: tome)
        shelf.relatedObjects("next").insert(shelf)
        try context.save()
        let plain = try store.open(nil)
        try plain.dropEntity(named: "Tome")
        try requireWhole(container)
        #expect(try plain.newContext().count(for: FetchRequest<ManagedObject>(entityName: "Shelf")) == 1)
        #expect(try plain.dropEntity(named: "Shelf") == 1)
        try requireWhole(plain)
    }
}
