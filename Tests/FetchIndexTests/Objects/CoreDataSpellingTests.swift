import Foundation
import FetchIndexTestSupport
import Testing

@testable import FetchIndex

private final class Person: ManagedObject {
    @Attribute("email", isUnique: true) var email: String?
    @Attribute("name") var name = ""
    @Relationship("boss", inverse: "staff") var boss: Person?
    @Relationship("staff", inverse: "boss") var staff: Related<Person>
    @Relationship("team", inverse: "members") var team: Team?
    var upper: String { name.uppercased() }
    var bossOrSelf: Person { boss ?? self }
    var top: Person { boss?.top ?? self }
}

/// A base class whose unique attribute its subclasses share.
private class Visitor: ManagedObject {
    @Attribute("badge", isUnique: true) var badge: Int?
}

private final class Guest: Visitor {}

private final class Team: ManagedObject {
    @Attribute("name") var name = ""
    @Relationship("members", inverse: "team") var members: Related<Person>
}

/// Spellings of requests that programs written for Core Data use.
@Suite struct CoreDataSpellingTests {
    private let store: LiveStore
    private let context: ManagedObjectContext

    init() throws {
        store = try LiveStore(Model([Person.self, Team.self, Visitor.self, Guest.self]))
        context = store.container.newContext()
    }

    private func person(_ name: String, _ team: Team? = nil, boss: Person? = nil) -> Person {
        let person = Person(context: context)
        (person.name, person.email, person.team, person.boss) = (name, "\(name)@example.org", team, boss)
        return person
    }

    private func team(_ name: String) -> Team {
        let team = Team(context: context)
        team.name = name
        return team
    }

    private func names(_ predicate: FetchPredicate) throws -> [String] {
        try context.fetch(FetchRequest<Person>(predicate: predicate, sortKeys: [SortKey(\.name)])).map(\.name)
    }

    @Test func objectsAndCollectionsArePredicateArguments() throws {
        let (red, blue, green) = (team("red"), team("blue"), team("green"))
        let boss = person("a", red)
        _ = (person("b", blue, boss: boss), person("c", green, boss: boss), person("d"))
        // The results are the same before and after the objects are saved.
        for isSaved in [false, true] {
            if isSaved { try context.save() }
            #expect(try names(FetchPredicate(format: "team == %@", red)) == ["a"])
            #expect(try names(FetchPredicate(format: "team IN %@ AND name != %@", [red, blue], "a")) == ["b"])
            #expect(try names(FetchPredicate("team IN %@", Set([green, blue]))) == ["b", "c"])
            #expect(try names(FetchPredicate("boss == %@ AND NOT team IN %@", boss, [blue] as Set)) == ["c"])
            #expect(try names(FetchPredicate("ANY staff IN %@", boss.staff)) == ["a"])
            #expect(try names(FetchPredicate("team == %@", Team?.none)) == ["d"])
            let controller = try FetchedResultsController(
                fetchRequest: FetchRequest<Team>(
                    predicate: FetchPredicate("name BEGINSWITH 'g'"), sortKeys: [SortKey(\.name)]), context: context)
            try controller.performFetch()
            let fetched = try #require(controller.fetchedObjects)
            #expect(try names(FetchPredicate("team IN %@", fetched)) == ["c"])
            #expect(try names(FetchPredicate("team IN %@", controller.sections[0].objects)) == ["c"])
        }
        #expect(throws: FetchPredicateError.self) { try names(FetchPredicate("team == %@", boss)) }
        #expect(try FetchPredicate("x IN %@", Set(["b", "a"])) == FetchPredicate("x IN {'a', 'b'}"))
        #expect(try FetchPredicate("x IN %@", Set([10, 9, -1])) == FetchPredicate("x IN {-1, 9, 10}"))
    }

    @Test func keyPathsThroughRelationshipsSortFilterAndGroup() throws {
        for (name, team) in [("a", team("y")), ("b", team("x"))] { _ = person(name, team) }
        let boss = person("c")
        _ = person("d", boss: boss)
        try context.save()
        let key = SortKey<Person>(\.team?.name, ascending: false)
        #expect(key.attribute == "team.name" && key.direction == .descending)
        #expect(SortKey<Person>("name", ascending: true) == SortKey(\.name))
        #expect(SortKey<Person>(\.boss?.boss?.name).attribute == "boss.boss.name")
        #expect(SortKey<Person>(\.boss?.email).attribute == "boss.email")
        var request = FetchRequest<Person>(predicate: FetchPredicate(\Person.team?.name != nil))
        request.sortKeys = [SortKey(\.team?.name)]
        #expect(try context.fetch(request).map(\.name) == ["b", "a"])
        #expect(try context.first(where: \Person.boss?.name == "c")?.name == "d")
        request = FetchRequest(sortKeys: [SortKey(\.name)])
        let controller = try FetchedResultsController(
            fetchRequest: request, context: context, sectionKey: .attribute(\.team?.name), cacheName: "teams")
        try controller.performFetch()
        #expect(controller.sectionKey == .attribute("team.name"))
        #expect(controller.sections.map(\.name) == ["y", "x", ""])
        let letters = try FetchedResultsController(
            fetchRequest: request, context: context, sectionKey: .prefix(\.name, 1))
        try letters.performFetch()
        #expect(letters.sections.map(\.name) == ["a", "b", "c", "d"])
    }

    @Test func firstGivesTheFirstMatchInTheRequestedOrder() throws {
        for name in ["b", "a", "c"] { _ = person(name) }
        #expect(try context.first(Person.self)?.name == "b")
        #expect(try context.first(Person.self, sortedBy: [SortKey(\.name)])?.name == "a")
        #expect(
            try context.first(where: \Person.name > "a", sortedBy: [SortKey(\.name, ascending: false)])?.name == "c")
        #expect(try context.first(Person.self, where: FetchPredicate("name == 'z'")) == nil)
        #expect(throws: FetchPredicateError.self) {
            try context.first(Person.self, where: FetchPredicate("nothing == 1"))
        }
    }

    // MARK: By unique value

    private func found(_ email: String) throws -> Person? { try context.object(where: \Person.email, is: email) }

    @Test func aLookupByUniqueValueSeesUnsavedEdits() throws {
        let (first, second) = (person("a"), person("b"))
        #expect(try found("a@example.org") === first)
        #expect(try found("x") == nil)
        try context.save()
        #expect(try found("a@example.org") === first)
        // After a change, an object is found only by its new value.
        first.email = "x"
        #expect(try found("a@example.org") == nil)
        #expect(try found("x") === first)
        second.email = "a@example.org"
        #expect(try found("a@example.org") === second)
        first.email = nil
        #expect(try found("x") == nil)
        context.delete(second)
        #expect(try found("a@example.org") == nil && found("b@example.org") == nil)
        try context.rollback()
        #expect(try found("a@example.org") === first && found("b@example.org") === second)
        #expect(try context.object(where: \Person.email, is: nil) == nil)
        #expect(try context.object(of: "Person", where: "email", is: "b@example.org") === second)
        #expect(throws: RequestError.notUnique(entity: "Person", attribute: "name")) {
            try context.object(where: \Person.name, is: "a")
        }
        #expect(throws: RequestError.self) { try context.object(of: "Person", where: "email", is: 7) }
        #expect(throws: StoreError.self) { try context.object(of: "Person", where: "mail", is: "x") }
    }

    @Test func aLookupByUniqueValueSeesSavesOfOtherContextsAfterAMerge() throws {
        let first = person("a")
        try context.save()
        #expect(try found("a@example.org") === first)
        try store.container.newContext().first(Person.self).map { other in
            other.email = "z"
            try other.managedObjectContext?.save()
        }
        first.name = "edited"
        #expect(try found("a@example.org") === first, "the context hasn't merged yet")
        try context.mergeChanges()
        #expect(try found("z") === first && found("a@example.org") == nil)
    }

    @Test func anInheritedUniqueValueIsFoundByBaseClassAndSubclass() throws {
        let (guest, person) = (Guest(context: context), Visitor(context: context))
        (guest.badge, person.badge) = (1, 2)
        for isSaved in [false, true] {
            if isSaved { try context.save() }
            #expect(try context.object(where: \Visitor.badge, is: 1) === guest)
            #expect(try context.object(where: \Guest.badge, is: 1) === guest)
            #expect(try context.object(where: \Guest.badge, is: 2) == nil)
        }
    }

    /// If each lookup scanned all unsaved objects, this test would take very long.
    @Test func lookupsFindThousandsOfUnsavedObjects() throws {
        for number in 0..<8000 {
            let email = "\(number % 6000)"
            let person = try found(email) ?? Person(context: context)
            person.email = email
        }
        #expect(context.insertedObjects.count == 6000)
        try context.rollback()
    }

    @Test func modelsAcceptAnArrayOfClasses() {
        #expect(Model([Person.self, Team.self]) == Model(Person.self, Team.self))
        #expect(FetchRequest<Person>(entityName: "Person", sortKeys: [SortKey(\.name)]).sortKeys.count == 1)
    }

    #if compiler(>=6.2)
        @Test func theTrapForAnInvalidKeyPathExplainsTheMistake() async throws {
            func message(_ result: ExitTest.Result?) -> String {
                String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
            }
            let computed = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                _ = SortKey<Person>(\.upper)
            }
            #expect(message(computed).contains("is not an attribute of Person: it is computed, or a part of"))
            let other = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                _ = SortKey<Person>(\.bossOrSelf.name)
            }
            #expect(message(other).contains("is not an attribute of Person"))
            let endless = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                _ = SortKey<Person>(\.top.name)
            }
            #expect(message(endless).contains("\\.author?.name"))
        }
    #endif
}
