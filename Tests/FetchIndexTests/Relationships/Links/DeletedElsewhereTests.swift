import FetchIndex
import FetchIndexTestSupport
import Testing

/// Links to objects that another context has deleted.
@Suite struct DeletedElsewhereTests {
    private let store: LiveStore
    private let context: ManagedObjectContext

    init() throws {
        store = try LiveStore(.library)
        context = store.container.newContext()
    }

    @Test func anUnsavedLinkToADeletedObjectIsDropped() throws {
        let novel = context.novel("b")
        let (label, writer) = (context.label("t"), context.writer("w"))
        try context.save()
        novel.labels.insert(label)
        novel.writer = writer
        let other = store.container.newContext()
        other.delete(try other.existingObject(with: label.objectID))
        other.delete(try other.existingObject(with: writer.objectID))
        try other.save()
        try context.mergeChanges()
        #expect(novel.labels.count == 0 && novel.labels.isEmpty && Array(novel.labels) == [] && novel.writer == nil)
        let unlinked = FetchRequest<Novel>(
            predicate: try FetchPredicate("labels.@count == 0 AND writer == NIL"), sortKeys: [])
        #expect(try context.fetch(unlinked) == [novel])
        try context.save()
        #expect(!context.hasChanges)
    }

    @Test func aLinkOfAnotherContextToADeletedObjectIsDropped() throws {
        let novel = context.novel("b")
        let label = context.label("t")
        try context.save()
        context.delete(novel)
        let other = store.container.newContext()
        let same = try other.existingObject(with: label.objectID, as: Label.self)
        same.novels.insert(try other.existingObject(with: novel.objectID, as: Novel.self))
        try other.save()
        try context.mergeChanges()
        #expect(label.novels.count == 0 && Array(label.novels) == [])
        try context.save()
        try other.mergeChanges()
        #expect(same.novels.isEmpty)
    }

    @Test func aSaveWithALinkToADeletedObjectFailsUnlessTheStoreTrumps() throws {
        let novel = context.novel("b")
        let label = context.label("t")
        try context.save()
        novel.labels.insert(label)
        let other = store.container.newContext()
        other.delete(try other.existingObject(with: label.objectID))
        try other.save()
        let error = #expect(throws: ValidationError.self) { try context.save() }
        let text = "objects cannot be saved: Novel 1: labels refers to Label 1, which is not in the store"
        #expect(error.map { "\($0)" } == text)
        context.mergePolicy = .mergeByPropertyStoreTrump
        novel.price = 7
        try context.save()
        #expect(novel.price == 7 && novel.labels.isEmpty)
    }

    @Test func aMergeRemovesLinksToDeletedObjects() throws {
        let store = try LiveStore(.club)
        let context = store.container.newContext()
        let (ann, bob) = (context.person("ann"), context.person("bob"))
        let team = context.team("t", ann)
        try context.save()
        bob.buddy = ann
        bob.teams.insert(team)
        let other = store.container.newContext()
        let found = try other.existingObject(with: ann.objectID, as: Club.Person.self)
        let same = try other.existingObject(with: team.objectID, as: Club.Team.self)
        same.members.removeAll()
        other.delete(same)
        other.delete(found)
        try other.save()
        try context.mergeChanges()
        #expect(bob.buddy == nil && Array(bob.teams) == [])
        try context.rollback()
    }

    @Test func aDeleteRuleAppliesToALinkThatAnotherContextMade() throws {
        let store = try LiveStore(.club)
        let context = store.container.newContext()
        let (ann, bob) = (context.person("ann"), context.person("bob"))
        try context.save()
        let other = store.container.newContext()
        let same = try other.existingObject(with: bob.objectID, as: Club.Person.self)
        same.buddy = try other.existingObject(with: ann.objectID, as: Club.Person.self)
        try other.save()
        context.mergePolicy = .mergeByPropertyObjectTrump
        bob.email = "b"
        context.delete(ann)
        try context.save()
        #expect(bob.buddy == nil && bob.email == "b")
        bob.email = "c"
        try context.save()
    }

    @Test func overwritingAnotherContextsDeletionKeepsLinksToTheObject() throws {
        let store = try LiveStore(.club)
        let context = store.container.newContext()
        let ann = context.person("ann")
        try context.save()
        let other = store.container.newContext()
        other.delete(try other.existingObject(with: ann.objectID))
        try other.save()
        ann.email = "a"
        context.person("bob").buddy = ann
        context.mergePolicy = .overwrite
        try context.save()
        let found = store.container.newContext()
        let people = try found.fetch(FetchRequest<Club.Person>(sortKeys: [SortKey("name")]))
        #expect(people.map(\.name) == ["ann", "bob"] && people[1].buddy === people[0])
    }

    /// The store has no record any more from which a refresh could read the values that weren't edited.
    @Test func refreshingAnEditedObjectAfterItsDeletionKeepsItsValues() throws {
        let novel = context.novel("b")
        try context.save()
        novel.price = 7
        let other = store.container.newContext()
        other.delete(try other.existingObject(with: novel.objectID))
        try other.save()
        try context.mergeChanges()
        context.refresh(novel, mergeChanges: true)
        #expect(novel.title == "b" && novel.price == 7)
        context.mergePolicy = .overwrite
        try context.save()
        let found = try store.container.newContext().fetch(FetchRequest<Novel>(sortKeys: []))
        #expect(found.map(\.title) == ["b"] && found.map(\.price) == [7])
    }
}
