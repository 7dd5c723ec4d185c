import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

// The examples of the article "Models that change", word for word.

private enum ModelChanges {
    final class Book: ManagedObject {
        @Attribute("name", renamedFrom: "title") var name: String
        @Attribute("price") var price: Int?
        @Attribute("pages") var pages = 0

        override class var removedAttributes: [String] { ["shelf"] }
    }

    static func open(_ url: URL) throws {
        let container = try PersistentContainer(at: url, model: Model(Book.self))
        _ = container
    }

    static func migrate(_ container: PersistentContainer, _ model: Model) throws {
        let plan = try container.plan(for: model)
        for step in plan.steps where step.verdict != .free { print(step) }
        try container.migrate(to: model) { entity, old in
            guard entity == "Book", case .string(let name)? = old["name"] else { return [:] }
            return ["initial": .string(String(name.prefix(1)))]
        }
    }
}

@Suite struct ModelChangeSnippets {
    @Test func theExampleOfModelChangesWorksAsDocumented() throws {
        let folder = TemporaryFolder()
        let url = URL(fileURLWithPath: folder.path)
        let title = AttributeDescription("title", .string, isOptional: false)
        let first = Model(entities: [
            Entity("Book", [title, AttributeDescription("price", .integer), AttributeDescription("shelf", .string)])
        ])
        let container = try PersistentContainer(at: url, model: first, durability: .none)
        let context = container.newContext()
        let book = try context.insert("Book")
        book["title"] = "虐殺器官"
        try context.save()
        try ModelChanges.open(url)
        let name = AttributeDescription("name", .string, isOptional: false)
        let initial = AttributeDescription("initial", .string, isOptional: false)
        try ModelChanges.migrate(container, Model(entities: [Entity("Book", [name, initial])]))
        let newer = container.newContext()
        let changed = try newer.fetch(FetchRequest<ManagedObject>(entityName: "Book"))
        #expect(changed.map { $0["name"] } == [.string("虐殺器官")])
        #expect(changed.map { $0["initial"] } == [.string("虐")])
        #expect(changed.map { $0["pages"] } == [.integer(0)])
        let names = try container.model().entity(named: "Book")?.attributes.map(\.name)
        #expect(names == ["name", "price", "pages", "initial"])
    }
}
