import FetchIndex
import FetchIndexTestSupport
import Foundation
import Testing

/// Requests that the store's model keeps under names.
@Suite struct NamedRequestTests {
    private let store = ModelStore()

    private static func model(_ requests: NamedRequest...) -> Model {
        Model(entities: ModelStore.first.entities, requests: requests)
    }

    private static func cheap(_ format: String = "price < $LIMIT AND title IN $TITLES") throws -> NamedRequest {
        NamedRequest("cheap", entity: "Book", predicate: try FetchPredicate(format), fetchLimit: 3)
    }

    @Test func aRequestIsKeptAndFilledIn() throws {
        try store.fill(store.open(Self.model(Self.cheap(), NamedRequest("all", entity: "Book"))))
        let container = try store.open(nil)
        #expect(try container.model().requests.map(\.name) == ["all", "cheap"])
        let request = try container.request(
            named: "cheap", with: ["LIMIT": 250, "TITLES": ["book 1", "book 2", "book 3"]])
        let found = try container.newContext().fetch(request).map { $0["title"] }
        #expect(found == [.string("book 1"), .string("book 2")])
        #expect(request.fetchLimit == 3)
        // A variable may get its value later.
        var open = try container.request(named: "cheap", with: ["TITLES": ["book 0"]])
        #expect(throws: (any Error).self) { try container.newContext().fetch(open) }
        open.predicate = try open.predicate?.withSubstitutionVariables(["LIMIT": 1])
        #expect(try container.newContext().fetch(open).count == 1)
        #expect(try container.newContext().fetch(container.request(named: "all")).count == 10)
        let error = #expect(throws: RequestError.self) { try container.request(named: "cheep") }
        #expect(error?.description == "the store has no request cheep; there is \"cheap\"")
    }

    @Test func textsBecomeValuesOfTheComparedTypes() throws {
        try store.fill(
            store.open(
                Self.model(
                    Self.cheap(), NamedRequest("size", entity: "Book", predicate: FetchPredicate("title.length == $N")))
            ))
        let container = try store.open(nil)
        let request = try container.request(named: "cheap", reading: ["LIMIT": "250", "TITLES": "book 1,book 7"])
        #expect(request.predicate?.description == "price < 250 AND title IN {\"book 1\", \"book 7\"}")
        #expect(try container.request(named: "size", reading: ["N": "6"]).predicate?.description == "title.length == 6")
        func reason(_ texts: [String: String]) -> String? {
            #expect(throws: RequestError.self) { try container.request(named: "cheap", reading: texts) }?.description
        }
        #expect(reason(["LIMIT": "x", "TITLES": ""]) == "the value \"x\" of $LIMIT is not an integer")
        #expect(reason(["LIMIT": "1"]) == "the request cheap needs a value of $TITLES")
        #expect(reason(["LIMITS": "1"]) == "the request cheap has no variable $LIMITS; there is \"LIMIT\"")
    }

    @Test func programsAddRequestsAndMigrationsReplaceThem() throws {
        let container = try store.open(Self.model(Self.cheap()))
        let other = try Self.cheap("price > $LIMIT")
        // An older program doesn't replace the request of a newer one.
        _ = try store.open(Self.model(other))
        #expect(try container.model().requests == [Self.cheap()])
        let plan = try container.plan(for: Self.model(other))
        #expect(plan.steps.map(\.description) == ["Book: set the request cheap (free: it is only stored)"])
        try container.migrate(to: Self.model(other))
        #expect(try container.model().requests == [other])
        #expect(try container.plan(for: Self.model(other)).isEmpty)
        // A model that says all that a store has removes requests; a program that declares none leaves them.
        _ = try store.open(ModelStore.first)
        #expect(try container.model().requests == [other])
        try container.migrate(to: ModelStore.first.replacing(container.model()))
        #expect(try container.model().requests == [])
        #expect(throws: StoreError.self) { try store.open(Self.model(NamedRequest("x", entity: "Film"))) }
        #expect(throws: StoreError.self) {
            try store.open(Self.model(NamedRequest("x", entity: "Book"), NamedRequest("x", entity: "Book")))
        }
    }

    @Test func aRequestFollowsItsEntitysName() throws {
        let container = try store.open(Self.model(Self.cheap()))
        try store.fill(container)
        let volume = Model(entities: [Entity("Volume", ModelStore.first.entities[0].attributes, renamedFrom: "Book")])
        try container.migrate(to: volume)
        #expect(try container.request(named: "cheap").entityName == "Volume")
        try container.dropEntity(named: "Volume")
        #expect(try container.model().requests == [])
    }
}
