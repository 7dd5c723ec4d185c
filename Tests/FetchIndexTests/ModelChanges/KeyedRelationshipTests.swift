@testable import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

private final class Shelf: ManagedObject {
    @Attribute("room") var room = ""
    @Relationship("slots", inverse: "shelf", deleteRule: .nullify) var slots: Related<Slot>
}

/// A place on a shelf. Shelf and place are unique together, and an index has both as keys.
private final class Slot: ManagedObject {
    @Attribute("place") var place = 0
    @Relationship("shelf", inverse: "slots") var shelf: Shelf?
    @Relationship("guest", inverse: "slot") var guest: Guest?
    override class var uniqueAttributes: [[String]] { [["shelf", "place"]] }
    override class var indexes: [Index] { [Index(["shelf", "place"]), Index(["shelf", "place"])] }
}

/// An entity without attributes.
private final class Guest: ManagedObject {
    @Relationship("slot", inverse: "guest") var slot: Slot?
}

/// An entity without attributes or relationships.
private final class Marker: ManagedObject {}

/// A team. Its captain is a member, and a member's unique key includes the team: team and captain refer to each other.
private final class Team: ManagedObject {
    @Attribute("name", isUnique: true) var name = ""
    @Relationship("members", inverse: "team") var members: Related<Member>
    @Relationship("captain", inverse: "leads") var captain: Member?
}

private final class Member: ManagedObject {
    @Attribute("number") var number = 0
    @Attribute("note") var note: String?
    @Relationship("team", inverse: "members") var team: Team?
    @Relationship("leads", inverse: "captain") var leads: Related<Team>
    override class var uniqueAttributes: [[String]] { [["team", "number"]] }
}

/// Unique constraints and indexes that include to-one relationships; entities without attributes.
@Suite struct KeyedRelationshipTests {
    private let model = Model(Shelf.self, Slot.self, Guest.self, Marker.self)

    private func shelf(_ room: String, _ places: [Int], in context: ManagedObjectContext) -> Shelf {
        let shelf = Shelf(context: context)
        shelf.room = room
        for place in places {
            let slot = Slot(context: context)
            (slot.place, slot.shelf) = (place, shelf)
        }
        return shelf
    }

    /// Saves, and returns the text of the error; an empty text if the save succeeds.
    private func failure(_ context: ManagedObjectContext) -> String {
        do { try context.save() } catch { return "\(error)" }
        return ""
    }

    private func slots(_ format: String, _ arguments: any PredicateArgument..., in context: ManagedObjectContext) throws
        -> [Int]
    {
        var request = FetchRequest<Slot>()
        request.predicate = try FetchPredicate(format: format, argumentArray: arguments)
        request.sortKeys = [SortKey(\.place)]
        return try context.fetch(request).map(\.place)
    }

    @Test func aUniqueConstraintMayIncludeARelationship() throws {
        let store = try LiveStore(model)
        let context = store.container.newContext()
        let (first, second) = (shelf("a", [1, 2], in: context), shelf("b", [1], in: context))
        try context.save()
        let third = Slot(context: context)
        (third.place, third.shelf) = (2, first)
        #expect(
            failure(context).contains("shelf, place must be unique together, but another object has \"Shelf 1, 2\""))
        third.shelf = second
        try context.save()
        #expect(second.slots.count == 2)
        // Two objects may exchange their shelves in one save.
        let moved = try #require(first.slots.first { $0.place == 2 })
        (moved.shelf, third.shelf) = (second, first)
        try context.save()
        // The inverse relationship can change the shelf too. Objects without a shelf may have the same place.
        first.slots.removeAll()
        second.slots.removeAll()
        try context.save()
        #expect(try slots("shelf == NIL", in: context) == [1, 1, 2, 2])
        let all = try context.fetch(FetchRequest<Slot>()).filter { $0.place == 2 }
        all[0].shelf = first
        all[1].shelf = first
        #expect(throws: ValidationError.self) { try context.save() }
        try context.rollback()
        try context.save()
    }

    /// Team and members refer to each other, and a member's unique key includes its team. Saving new objects updates
    /// the stored objects with the same keys, whether the team is declared and created first, or the members are.
    @Test(arguments: [true, false]) func newObjectsThatReferToEachOtherUpdateStoredObjectsByTheirKeys(isTeamFirst: Bool)
        throws
    {
        let store = try LiveStore(Model(isTeamFirst ? [Team.self, Member.self] : [Member.self, Team.self]))
        for round in 0..<3 {
            let context = store.container.newContext()
            context.onUniqueConflict = .update
            let early = isTeamFirst ? Team(context: context) : nil
            let members = (1...3).map { number in
                let member = Member(context: context)
                (member.number, member.note) = (number, "\(round)")
                return member
            }
            let team = early ?? Team(context: context)
            (team.name, team.captain) = ("a", members[1])
            for member in members { member.team = team }
            try context.save()
            let other = store.container.newContext()
            let stored = try other.fetch(FetchRequest<Member>(sortKeys: [SortKey(\.number)]))
            #expect(stored.map(\.number) == [1, 2, 3], "round \(round)")
            #expect(stored.map(\.note) == Array(repeating: "\(round)", count: 3))
            let teams = try other.fetch(FetchRequest<Team>())
            #expect(teams.count == 1 && teams.first?.captain === stored[1] && teams.first?.members.count == 3)
        }
        #expect(try store.container.check { _, _ in } == [])
    }

    @Test func slotsOfADeletedShelfStayWithoutAShelf() throws {
        let store = try LiveStore(model)
        let context = store.container.newContext()
        let first = shelf("a", [1, 2], in: context)
        _ = shelf("b", [1, 2], in: context)
        try context.save()
        context.delete(first)
        try context.save()
        #expect(try slots("shelf == NIL", in: context) == [1, 2])
        _ = shelf("c", [1, 2], in: context)
        try context.save()
        #expect(
            try container(store).plan(OrderDefinition(entity: "Slot", predicate: FetchPredicate("shelf == NIL")))
                .rowCount == 6)
    }

    private func container(_ store: LiveStore) -> PersistentContainer { store.container }

    @Test func aLookupUsesAnIndexOverARelationship() throws {
        let store = try LiveStore(model)
        let context = store.container.newContext()
        let shelves = (0..<50).map { shelf("\($0)", Array(0..<40), in: context) }
        try context.save()
        let predicate = try FetchPredicate("shelf == %@ AND place >= 37", shelves[7].objectID)
        let plan = try store.container.plan(OrderDefinition(entity: "Slot", predicate: predicate))
        #expect(plan.source == .order(name: "index:Slot(shelf,place)", attribute: "shelf, place"))
        #expect(plan.rowsRead == 3 && plan.isExact)
        #expect(try slots("shelf == %@ AND place >= 37", shelves[7].objectID, in: context) == [37, 38, 39])
        // Fetches include unsaved edits. After a shelf is deleted, its places are still found.
        try #require(shelves[8].slots.first { $0.place == 39 }).place = 100
        #expect(try slots("shelf == %@ AND place >= 37", shelves[8].objectID, in: context) == [37, 38, 100])
        context.delete(shelves[7])
        try context.save()
        #expect(try slots("shelf == NIL AND place >= 37", in: context) == [37, 38, 39])
        #expect(store.container.model(hasIndexes: [["shelf", "place"]], of: "Slot"))
    }

    @Test func anEntityMayHaveNoAttributes() throws {
        let store = try LiveStore(model)
        let context = store.container.newContext()
        let guest = Guest(context: context)
        _ = Marker(context: context)
        let place = try #require(shelf("a", [1], in: context).slots.first)
        guest.slot = place
        try context.save()
        let other = store.container.newContext()
        #expect(try other.fetch(FetchRequest<Guest>()).map { $0.slot?.place } == [1])
        #expect(try other.count(for: FetchRequest<Marker>()) == 1)
        let marker = try #require(try other.fetch(FetchRequest<Marker>()).first)
        #expect(try marker.objectID == store.container.newContext().fetch(FetchRequest<Marker>()).first?.objectID)
        other.delete(marker)
        try other.save()
        #expect(try other.count(for: FetchRequest<Marker>()) == 0)
        _ = try PersistentContainer(temporaryWith: Model(entities: [Entity("Empty", [], isAbstract: true)]))
    }

    @Test func aUniqueConstraintOfOneAttributeMakesItUnique() throws {
        let listed = Entity("Part", [AttributeDescription("code", .string)], unique: [["code"], ["code"]])
        #expect(listed == Entity("Part", [AttributeDescription("code", .string, isUnique: true)]))
        let container = try PersistentContainer(temporaryWith: Model(entities: [listed]))
        let context = container.newContext()
        for _ in 0..<2 { try context.insert("Part")["code"] = "x" }
        #expect(failure(context).contains("code must be unique, but another object has \"x\""))
    }

    /// Only the subentity declares the unique constraint, so objects of the superentity may share values.
    @Test func aSubentityMayMakeAnInheritedAttributeUnique() throws {
        let base = Entity("Part", [AttributeDescription("code", .string)])
        let own = Entity("Screw", [], unique: [["code"]], superentity: "Part")
        let container = try PersistentContainer(temporaryWith: Model(entities: [base, own]))
        let context = container.newContext()
        for entity in ["Part", "Part", "Screw"] { try context.insert(entity)["code"] = "x" }
        try context.save()
        try context.insert("Screw")["code"] = "x"
        #expect(failure(context).contains("code must be unique, but another object has \"x\""))
    }

    @Test func invalidUniqueConstraintsAndIndexesAreRefusedWithTheReason() throws {
        func reason(_ unique: [[String]], _ indexes: [Index] = []) -> String {
            let writer = Entity(
                "Writer", [], relationships: [RelationshipDescription("books", toMany: "Book", inverse: "writer")],
                unique: unique, indexes: indexes)
            let book = Entity(
                "Book", [], relationships: [RelationshipDescription("writer", toOne: "Writer", inverse: "books")])
            do { _ = try PersistentContainer(temporaryWith: Model(entities: [writer, book])) } catch {
                return "\(error)"
            }
            return ""
        }
        #expect(
            reason([["books"]]).contains("Writer.books leads to many objects, and has no value that could be unique"))
        #expect(
            reason([["name"]]).contains("Writer has no attribute or to-one relationship \"name\" that could be unique"))
        #expect(reason([], [Index(["books"])]).contains("Writer.books leads to many objects"))
    }
}

extension PersistentContainer {
    fileprivate func model(hasIndexes keys: [[String]], of entity: String) -> Bool {
        (try? model().entity(named: entity)?.indexes.map { $0.keys.map(\.attribute) }) == keys
    }
}
