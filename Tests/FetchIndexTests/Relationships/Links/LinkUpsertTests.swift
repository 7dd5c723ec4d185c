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

    /// The stored object's own edit refers to a new object, so it's written after the upsert.
    @Test func anUpsertOfAnEditedObjectKeepsTheEditAndTheNewValues() throws {
        let ann = context.person("ann")
        try context.save()
        let controller = try FetchedResultsController(
            fetchRequest: FetchRequest<Club.Person>(sortKeys: [SortKey("email"), SortKey("name")]), context: context,
            cacheName: "by email")
        try controller.performFetch()
        context.onUniqueConflict = .update
        ann.buddy = context.person("bob")
        ann.email = "old@example.org"
        context.person("ann").email = "new@example.org"
        try context.save()
        #expect(controller.snapshot.objectIDs.flatMap { $0 } == [try #require(ann.buddy).objectID, ann.objectID])
        #expect(try store.container.verifyCache("by email") == [])
        let other = store.container.newContext()
        let found = try other.fetch(FetchRequest<Club.Person>(sortKeys: [SortKey("name")]))
        #expect(found.map(\.name) == ["ann", "bob"] && found[0].buddy === found[1])
        #expect(found[0].email == "new@example.org" && ann.email == "new@example.org")
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
