import FetchIndex
import Observation
import Synchronization
import FetchIndexTestSupport
import Testing

/// Defects of relationships that were found by reading the code, each as a test.
@Suite struct LinkRegressionTests {
    private typealias Person = Regress.Person
    private typealias Badge = Regress.Badge
    private typealias Team = Regress.Team
    private typealias Note = Regress.Note

    private let store: LiveStore
    private let context: ManagedObjectContext
    init() throws {
        store = try LiveStore(Model(Person.self, Badge.self, Team.self, Note.self))
        context = store.container.newContext()
    }

    private func person(_ name: String) -> Person {
        let person = Person(context: context)
        person.name = name
        return person
    }

    private func team(_ name: String, _ members: Person...) -> Team {
        let team = Team(context: context)
        team.name = name
        for member in members { team.members.insert(member) }
        return team
    }

    @Test func aBatchWriterKeepsRelationships() throws {
        let (ann, bob) = (person("ann"), person("bob"))
        ann.buddy = bob
        try context.save()
        let writer = try BatchWriter(store.container, entity: "Person", key: "name", author: "test")
        var values = try writer.values(of: ann.objectID)
        values[1] = "ann@example.org"
        try writer.update(ann.objectID, values)
        try writer.commit()
        try context.mergeChanges()
        #expect(ann.email == "ann@example.org" && ann.buddy === bob && Array(bob.fans) == [ann])
        // Its deletions follow the delete rules.
        try writer.delete(bob.objectID)
        try writer.commit()
        try context.mergeChanges()
        #expect(ann.buddy == nil && ann.email == "ann@example.org")
    }

    @Test func undoDoesNotDeleteWhatWasOnlyMoved() throws {
        let store = try LiveStore(.library)
        let context = store.container.newContext()
        let root = context.folder("root")
        let child = context.folder("child", in: root)
        _ = context.folder("leaf", in: child)
        try context.save()
        context.isUndoEnabled = true
        child.name = "x"
        let new = context.folder("new")
        child.parent = new
        #expect(context.undo())
        #expect(child.name == "child" && child.parent === root && child.children.count == 1 && !child.isDeleted)
        #expect(context.redo())
        #expect(child.name == "x" && child.parent?.name == "new")
        try context.save()
        #expect(try context.count(for: FetchRequest<Folder>()) == 4)
    }

    @Test func anUpsertKeepsAPartner() throws {
        let badge = Badge(context: context)
        badge.owner = person("ann")
        try context.save()
        context.onUniqueConflict = .update
        let again = person("ann")
        badge.owner = again
        try context.save()
        let other = store.container.newContext()
        let found = try other.fetch(FetchRequest<Person>())
        #expect(found.count == 1 && found[0].badge?.objectID == badge.objectID)
    }

    @Test(arguments: [false, true]) func upsertsInACycleKeepStoredValues(isRegistered: Bool) throws {
        let stored = person("ann")
        stored.email = "ann@example.org"
        try context.save()
        let second = isRegistered ? context : store.container.newContext()
        second.onUniqueConflict = .update
        let (bob, ann) = (Person(context: second), Person(context: second))
        (bob.name, ann.name) = ("bob", "ann")
        bob.buddy = ann
        ann.buddy = bob
        try second.save()
        let other = store.container.newContext()
        let found = try other.fetch(FetchRequest<Person>(sortKeys: [SortKey("name")]))
        #expect(found.map(\.name) == ["ann", "bob"])
        #expect(found[0].email == "ann@example.org" && found[0].buddy === found[1] && found[1].buddy === found[0])
    }

    @Test func aNewObjectThatIsDeletedLeavesNoLinks() throws {
        let ann = person("ann")
        let new = team("t", ann)
        let note = Note(context: context)
        (note.key, note.author, note.team) = ("n", ann, new)
        context.delete(new)
        #expect(ann.teams.isEmpty && note.team == nil)
        context.processPendingChanges()
        try context.save()
        #expect(ann.teams.isEmpty && note.team == nil)
    }

    @Test func noActionLeavesADanglingReference() throws {
        let ann = person("ann")
        let team = team("t", ann)
        let note = Note(context: context)
        (note.key, note.author, note.team) = ("n", ann, team)
        try context.save()
        ann.teams.remove(team)
        context.delete(team)
        #expect(note.team == nil)
        try context.save()
        let other = store.container.newContext()
        let seen = try #require(try other.fetch(FetchRequest<Note>()).first)
        #expect(seen.team == nil && seen.author?.name == "ann")
        seen.text = "x"
        try other.save()
    }

    @Test func theSameLinkIsNotStoredTwice() throws {
        let ann = person("ann")
        let stored = team("x", ann)
        try context.save()
        context.onUniqueConflict = .update
        let bob = person("bob")
        let again = Team(context: context)
        again.name = "x"
        bob.teams.insert(stored)
        bob.teams.insert(again)
        try context.save()
        let other = store.container.newContext()
        let found = try other.fetch(FetchRequest<Person>(sortKeys: [SortKey("name")]))
        #expect(found[1].teams.count == 1 && found[1].teams.map(\.name) == ["x"])
    }

    @Test func whatAnotherContextDeletedIsNil() throws {
        let (ann, bob) = (person("ann"), person("bob"))
        let team = team("t", ann)
        try context.save()
        bob.buddy = ann
        bob.teams.insert(team)
        let other = store.container.newContext()
        let found = try other.existingObject(with: ann.objectID, as: Person.self)
        let same = try other.existingObject(with: team.objectID, as: Team.self)
        same.members.removeAll()
        other.delete(same)
        other.delete(found)
        try other.save()
        try context.mergeChanges()
        #expect(bob.buddy == nil && Array(bob.teams) == [])
        try context.rollback()
    }

    @Test func aLoopMaySave() throws {
        let ann = person("ann")
        for number in 0..<5 { person("fan \(number)").buddy = ann }
        var seen = 0
        for fan in ann.fans {
            fan.email = "\(seen)"
            seen += 1
            try context.save()
        }
        #expect(seen == 5 && ann.fans.compactMap(\.email) == ["0", "1", "2", "3", "4"])
    }

    @Test func objectsOfASaveSeeWhatRulesChanged() throws {
        let (ann, bob) = (person("ann"), person("bob"))
        try context.save()
        let other = store.container.newContext()
        let same = try other.existingObject(with: bob.objectID, as: Person.self)
        same.buddy = try other.existingObject(with: ann.objectID, as: Person.self)
        try other.save()
        context.mergePolicy = .mergeByPropertyObjectTrump
        bob.email = "b"
        context.delete(ann)
        try context.save()
        #expect(bob.buddy == nil && bob.email == "b")
        bob.email = "c"
        try context.save()
    }

    @Test func countsAreThoseOfObjectsThatAreThere() throws {
        let ann = person("ann")
        let team = team("t")
        ann.teams.insert(team)
        context.delete(team)
        context.processPendingChanges()
        try context.save()
        let lonely = self.team("lonely")
        #expect(throws: ValidationError.self) { try context.save() }
        lonely.members.insert(ann)
        try context.save()
    }

    @Test func observersHearOfRemovals() throws {
        let (ann, bob) = (person("ann"), person("bob"))
        let team = team("t", ann)
        bob.buddy = ann
        try context.save()
        func isTold(_ read: () -> Void, _ change: () -> Void) -> Bool {
            let told = Mutex(false)
            withObservationTracking(read) { told.withLock { $0 = true } }
            change()
            return told.withLock { $0 }
        }
        #expect(isTold({ _ = ann.fans.count }) { bob.buddy = nil })
        #expect(isTold({ _ = ann.fans.count }) { bob.buddy = ann })
        #expect(isTold({ _ = bob.teams.count }) { team.members.insert(bob) })
        #expect(isTold({ _ = ann.teams.count }) { team.members.remove(ann) })
        #expect(isTold({ _ = team.members.count }) { bob.teams.remove(team) })
        #expect(isTold({ _ = ann.fans.count }) { context.delete(bob) })
        #expect(isTold({ _ = ann.fans.count }) { try? context.rollback() })
    }

    @Test func longChainsAreSavedAndDeleted() throws {
        let store = try LiveStore(.library)
        let context = store.container.newContext()
        var folders: [Folder] = (0..<6000).map { context.folder("\($0)") }
        for index in folders.indices.dropLast() { folders[index].parent = folders[index + 1] }
        try context.save()
        let root = folders.removeLast()
        context.delete(root)
        try context.save()
        #expect(try context.count(for: FetchRequest<Folder>()) == 0)
    }

    @Test func upsertsKeepRequiredObjects() throws {
        let note = Note(context: context)
        (note.key, note.author) = ("n", person("ann"))
        try context.save()
        let other = store.container.newContext()
        other.onUniqueConflict = .update
        let again = Note(context: other)
        (again.key, again.text) = ("n", "text")
        try other.save()
        #expect(again.author?.name == "ann" && again.text == "text")
        let new = Note(context: other)
        new.key = "without"
        #expect(throws: ValidationError.self) { try other.save() }
    }

    @Test func batchInsertsNeedRequiredObjects() throws {
        let request = BatchInsertRequest(entityName: "Note", rows: [["n", .null]])
        #expect(throws: StoreError.invalidValue(entity: "Note", attribute: "author", "is required")) {
            try context.execute(request)
        }
    }

    @Test func anObjectThatIsInsertedAgainKeepsWhatRefersToIt() throws {
        let ann = person("ann")
        try context.save()
        let other = store.container.newContext()
        other.delete(try other.existingObject(with: ann.objectID))
        try other.save()
        ann.email = "a"
        person("bob").buddy = ann
        context.mergePolicy = .overwrite
        try context.save()
        let found = store.container.newContext()
        let people = try found.fetch(FetchRequest<Person>(sortKeys: [SortKey("name")]))
        #expect(people.map(\.name) == ["ann", "bob"] && people[1].buddy === people[0])
    }

    @Test func aBatchDeletesWhatDependsOnEachOther() throws {
        let ann = person("ann")
        _ = team("t", ann)
        let note = Note(context: context)
        (note.key, note.author) = ("n", ann)
        try context.save()
        // The note requires its author, and is not deleted.
        #expect(throws: StoreError.self) { try context.execute(BatchDeleteRequest(entityName: "Person")) }
        try context.execute(BatchDeleteRequest(entityName: "Note"))
        try context.execute(BatchDeleteRequest(entityName: "Person"))
        #expect(try context.count(for: FetchRequest<Team>()) == 1)
    }

    @Test func manyLinksAreMadeInOneContext() throws {
        let ann = person("ann")
        let teams = (0..<3000).map { number in
            let team = Team(context: context)
            team.name = "\(number)"
            return team
        }
        for team in teams { ann.teams.insert(team) }
        #expect(ann.teams.count == 3000 && ann.teams.contains(teams[1500]))
        try context.save()
        #expect(Array(ann.teams) == teams)
    }
}
