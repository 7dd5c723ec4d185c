import FetchIndex
import FetchIndexTestSupport
import Testing

/// Batch writers and batch requests keep links, apply delete rules, and check required relationships.
@Suite struct LinkBatchTests {
    private let store: LiveStore
    private let context: ManagedObjectContext

    init() throws {
        store = try LiveStore(.club)
        context = store.container.newContext()
    }

    @Test func aBatchWriterKeepsLinksAndFollowsDeleteRules() throws {
        let (ann, bob) = (context.person("ann"), context.person("bob"))
        ann.buddy = bob
        try context.save()
        let writer = try BatchWriter(store.container, entity: "Person", key: "name", author: "test")
        var values = try writer.values(of: ann.objectID)
        values[1] = "ann@example.org"
        try writer.update(ann.objectID, values)
        try writer.commit()
        try context.mergeChanges()
        #expect(ann.email == "ann@example.org" && ann.buddy === bob && Array(bob.fans) == [ann])
        // Deletions by the writer follow the delete rules.
        try writer.delete(bob.objectID)
        try writer.commit()
        try context.mergeChanges()
        #expect(ann.buddy == nil && ann.email == "ann@example.org")
    }

    @Test func aBatchInsertWithoutARequiredRelationshipIsRefused() throws {
        let request = BatchInsertRequest(entityName: "Note", rows: [["n", .null]])
        #expect(throws: StoreError.invalidValue(entity: "Note", attribute: "author", "is required")) {
            try context.execute(request)
        }
    }

    @Test func aBatchDeleteFollowsDeleteRulesAndRequiredRelationships() throws {
        let ann = context.person("ann")
        _ = context.team("t", ann)
        let note = Club.Note(context: context)
        (note.key, note.author) = ("n", ann)
        try context.save()
        // The note requires its author, and the batch does not delete the note.
        #expect(throws: StoreError.self) { try context.execute(BatchDeleteRequest(entityName: "Person")) }
        try context.execute(BatchDeleteRequest(entityName: "Note"))
        try context.execute(BatchDeleteRequest(entityName: "Person"))
        #expect(try context.count(for: FetchRequest<Club.Team>()) == 1)
    }
}
