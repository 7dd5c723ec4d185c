import FetchIndex
import Testing

// The examples of the article "Entity inheritance", word for word.

private enum Inheritance {
    class Work: ManagedObject {
        @Attribute("code", isUnique: true) var code: Int
        @Attribute("title", indexed: true) var title = ""

        override class var isAbstract: Bool { self == Work.self }
    }

    final class Tome: Work {
        @Attribute("pages") var pages: Int?
    }

    final class Periodical: Work {
        @Attribute("issue") var issue: Int?
    }
}

@Suite struct InheritanceSnippets {
    private typealias Work = Inheritance.Work
    private typealias Tome = Inheritance.Tome
    private typealias Periodical = Inheritance.Periodical

    @Test func theExampleOfInheritanceWorksAsDocumented() throws {
        let container = try PersistentContainer(temporaryWith: Model(Work.self, Tome.self, Periodical.self))
        let context = container.newContext()
        for number in 0..<400 {
            let work = number % 2 == 0 ? Tome(context: context) : Periodical(context: context)
            work.code = number
            work.title = "title \(number)"
            (work as? Tome)?.pages = 1
        }
        try context.save()
        var request = FetchRequest<Work>(sortKeys: [SortKey(\.title)])
        var pages = 0
        for work in try context.fetch(request) {
            if let tome = work as? Tome { pages += tome.pages ?? 0 }
        }
        #expect(pages == 200)
        request.includesSubentities = false
        #expect(try context.fetch(request).isEmpty)
        // The index of the base class contains the objects of both subclasses, and is used by fetches of the base
        // class.
        let predicate = try FetchPredicate("title == 'title 7'")
        let plan = try container.plan(OrderDefinition(entity: "Work", predicate: predicate))
        #expect(plan.source == .order(name: "index:Work(title)", attribute: "title"))
        #expect(plan.rowsRead == 1)
        let own = try container.plan(OrderDefinition(entity: "Tome", predicate: predicate))
        #expect(own.source == .scan)
        // The article also declares the model without classes.
        let declared = Model(entities: [
            Entity(
                "Work", [AttributeDescription("code", .integer, isUnique: true)], isAbstract: true),
            Entity("Tome", [AttributeDescription("pages", .integer)], superentity: "Work"),
        ])
        #expect(declared.entity(named: "Tome")?.attributes.map(\.name) == ["code", "pages"])
    }
}
