import FetchIndex
import FetchIndexTestSupport
import Testing

/// Upserts of objects that have links.
@Suite struct LinkUpsertTests {
    private let store: LiveStore
    private let context: ManagedObjectContext

    init() throws {
        store = try LiveStore(.club)
        context = store.container.newContext()
    }

    @Test func anUpsertKeepsAOneToOneLink() throws {
        let badge = Club.Badge(context: context)
        badge.owner = context.person("ann")
        try context.save()
        context.onUniqueConflict = .update
        let again = context.person("ann")
        badge.owner = again
        try context.save()
        let other = store.container.newContext()
        let found = try other.fetch(FetchRequest<Club.Person>())
        #expect(found.count == 1 && found[0].badge?.objectID == badge.objectID)
    }

    @Test(arguments: [false, true]) func upsertsOfObjectsInACycleKeepStoredValues(isRegistered: Bool) throws {
        let stored = context.person("ann")
        stored.email = "ann@example.org"
        try context.save()
        let second = isRegistered ? context : store.container.newContext()
        second.onUniqueConflict = .update
        let (bob, ann) = (Club.Person(context: second), Club.Person(context: second))
        (bob.name, ann.name) = ("bob", "ann")
        bob.buddy = ann
        ann.buddy = bob
        try second.save()
        let other = store.container.newContext()
        let found = try other.fetch(FetchRequest<Club.Person>(sortKeys: [SortKey("name")]))
        #expect(found.map(\.name) == ["ann", "bob"])
        #expect(found[0].email == "ann@example.org" && found[0].buddy === found[1] && found[1].buddy === found[0])
    }

    /// The stored object's own edit refers to a new object, so it can be completed only after the upsert.
    @Test func anUpsertOfAnEditedObjectKeepsTheEditAndTheNewValues() throws {
        let ann = context.person("ann")
        try context.save()
        let controller = try FetchedResultsController(
            fetchRequest: FetchRequest<Club.Person>(sortKeys: [SortKey("email")]), context: context,
            cacheName: "by email")
        try controller.performFetch()
        context.onUniqueConflict = .update
        let bob = context.person("bob")
        bob.email = "b"
        (ann.buddy, ann.email) = (bob, "c")
        context.person("ann").email = "a"
        try context.save()
        #expect(controller.snapshot.objectIDs == [[ann.objectID, bob.objectID]])
        #expect(try store.container.verifyCache("by email") == [])
        let other = store.container.newContext()
        let found = try other.fetch(FetchRequest<Club.Person>(sortKeys: [SortKey("name")]))
        #expect(found.map(\.name) == ["ann", "bob"] && found.map(\.email) == ["a", "b"])
        #expect(found[0].buddy === found[1] && ann.email == "a" && ann.buddy === bob)
    }

    @Test func anUpsertsReferenceReplacesThatOfTheStoredObjectsEdit() throws {
        let (ann, cid) = (context.person("ann"), context.person("cid"))
        try context.save()
        context.onUniqueConflict = .update
        ann.buddy = context.person("bob")
        context.person("ann").buddy = cid
        try context.save()
        let other = store.container.newContext()
        let found = try other.fetch(FetchRequest<Club.Person>(sortKeys: [SortKey("name")]))
        #expect(found.map(\.name) == ["ann", "bob", "cid"] && found[0].buddy === found[2] && found[1].fans.isEmpty)
        #expect(try store.container.check() == [])
    }

    @Test func aRequiredReferenceToANewObjectIsCompletedAfterAnUpsert() throws {
        let note = Club.Note(context: context)
        (note.key, note.author) = ("n", context.person("ann"))
        try context.save()
        context.onUniqueConflict = .update
        note.author = context.person("bob")
        let again = Club.Note(context: context)
        (again.key, again.text) = ("n", "text")
        try context.save()
        #expect(note.author?.name == "bob" && note.text == "text")
        #expect(try store.container.check() == [])
    }

    final class Member: ManagedObject {
        @Attribute("name", isUnique: true) var name: String
        @Attribute("email", isUnique: true) var email: String?
        @Relationship("buddy", inverse: "fans") var buddy: Member?
        @Relationship("fans", inverse: "buddy") var fans: Related<Member>
    }

    /// The edit frees a unique value, which the upsert takes again.
    @Test func aValueThatAnUpsertTakesAgainStaysUnique() throws {
        let store = try LiveStore(Model(Member.self))
        let context = store.container.newContext()
        func member(_ name: String, _ email: String?) -> Member {
            let member = Member(context: context)
            (member.name, member.email) = (name, email)
            return member
        }
        let ann = member("ann", "a")
        try context.save()
        context.onUniqueConflict = .update
        (ann.email, ann.buddy) = ("b", member("bob", nil))
        _ = member("ann", "a")
        try context.save()
        #expect(ann.email == "a" && ann.buddy?.name == "bob")
        #expect(try store.container.check() == [])
        context.onUniqueConflict = .error
        _ = member("cid", "a")
        #expect(throws: ValidationError.self) { try context.save() }
    }

    @Test func linksToANewObjectAndToTheObjectThatItUpdatesBecomeOneLink() throws {
        let ann = context.person("ann")
        let stored = context.team("x", ann)
        try context.save()
        context.onUniqueConflict = .update
        let bob = context.person("bob")
        let again = Club.Team(context: context)
        again.name = "x"
        bob.teams.insert(stored)
        bob.teams.insert(again)
        try context.save()
        let other = store.container.newContext()
        let found = try other.fetch(FetchRequest<Club.Person>(sortKeys: [SortKey("name")]))
        #expect(found[1].teams.count == 1 && found[1].teams.map(\.name) == ["x"])
    }

    @Test func anUpsertKeepsAStoredRequiredRelationship() throws {
        let note = Club.Note(context: context)
        (note.key, note.author) = ("n", context.person("ann"))
        try context.save()
        let other = store.container.newContext()
        other.onUniqueConflict = .update
        let again = Club.Note(context: other)
        (again.key, again.text) = ("n", "text")
        try other.save()
        #expect(again.author?.name == "ann" && again.text == "text")
        let new = Club.Note(context: other)
        new.key = "without"
        #expect(throws: ValidationError.self) { try other.save() }
    }
}
