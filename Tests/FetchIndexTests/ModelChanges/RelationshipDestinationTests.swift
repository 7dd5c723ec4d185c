import FetchIndex
import FetchIndexModels
import FetchIndexTestSupport
import FetchIndexValues
import Testing

/// Relationships that come to lead to objects of another entity, and those that move to or from a superentity.
@Suite struct RelationshipDestinationTests {
    let store = ModelStore()

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
