import FetchIndex
import FetchIndexTestSupport
import Testing

/// The effects of a deletion on links, and on the objects at their other ends.
@Suite struct LinkDeletionTests {
    private let store: LiveStore
    private let context: ManagedObjectContext

    init() throws {
        store = try LiveStore(.club)
        context = store.container.newContext()
    }

    @Test func aDeletedNewObjectLeavesNoLinks() throws {
        let ann = context.person("ann")
        let new = context.team("t", ann)
        let note = Club.Note(context: context)
        (note.key, note.author, note.team) = ("n", ann, new)
        context.delete(new)
        #expect(ann.teams.isEmpty && note.team == nil)
        context.processPendingChanges()
        try context.save()
        #expect(ann.teams.isEmpty && note.team == nil)
    }

    @Test func aRelationshipToADeletedObjectReadsAsNilUnderTheRuleNoAction() throws {
        let ann = context.person("ann")
        let team = context.team("t", ann)
        let note = Club.Note(context: context)
        (note.key, note.author, note.team) = ("n", ann, team)
        try context.save()
        ann.teams.remove(team)
        context.delete(team)
        #expect(note.team == nil)
        try context.save()
        let other = store.container.newContext()
        let seen = try #require(try other.fetch(FetchRequest<Club.Note>()).first)
        #expect(seen.team == nil && seen.author?.name == "ann")
        seen.text = "x"
        try other.save()
    }

    @Test func minimumCountsOfRelationshipsIgnoreDeletedObjects() throws {
        let ann = context.person("ann")
        let team = context.team("t")
        ann.teams.insert(team)
        context.delete(team)
        context.processPendingChanges()
        try context.save()
        let lonely = context.team("lonely")
        #expect(throws: ValidationError.self) { try context.save() }
        lonely.members.insert(ann)
        try context.save()
    }

    @Test func chainsOfThousandsOfObjectsAreSavedAndDeleted() throws {
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
}
