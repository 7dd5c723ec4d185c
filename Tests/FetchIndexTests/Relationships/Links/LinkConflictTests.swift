import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// Links that two contexts change, and links to objects that another context deletes.
@Suite struct LinkConflictTests {
    private let store: LiveStore
    private let (first, second): (ManagedObjectContext, ManagedObjectContext)

    init() throws {
        store = try LiveStore(.library)
        first = store.container.newContext()
        let writers = ["a", "b"].map { [first] name in first.writer(name) }
        let novel = first.novel("novel", by: writers[0])
        novel.labels.insert(first.label("label"))
        _ = first.novel("other")
        _ = first.label("free")
        writers[1].passport = Passport(context: first)
        try first.save()
        second = store.container.newContext()
        _ = try second.commit
    }

    private func one<Object: ManagedObject>(_ name: String, in context: ManagedObjectContext) throws -> Object {
        let attribute = Object.self == Novel.self ? "title" : "name"
        let request = FetchRequest<Object>(predicate: try FetchPredicate("%K == %@", attribute, name), sortKeys: [])
        return try #require(try context.fetch(request).first)
    }

    @Test func aSaveWithALinkToAnObjectThatAnotherContextDeletedFails() throws {
        let writer: Writer = try one("a", in: first)
        let other: Novel = try one("other", in: second)
        other.writer = try one("a", in: second)
        first.delete(writer)
        try first.save()
        let error = #expect(throws: ValidationError.self) { try second.save() }
        #expect(error.map { "\($0)" }?.contains("writer refers to Writer 1, which is not in the store") == true)
        try second.rollback()
        try second.mergeChanges()
        #expect(other.writer == nil)
    }

    @Test func aDeletionRemovesLinksThatAnotherContextMade() throws {
        let writer: Writer = try one("a", in: first)
        let other: Novel = try one("other", in: second)
        other.writer = try one("a", in: second)
        try second.save()
        #expect(writer.novels.count == 1)
        first.delete(writer)
        try first.save()
        let seen: Novel = try one("other", in: first)
        #expect(seen.writer == nil)
        try second.mergeChanges()
        #expect(other.writer == nil)
    }

    @Test func aCascadeDeletesObjectsThatAnotherContextAdded() throws {
        let novel: Novel = try one("novel", in: first)
        let chapter = Chapter(context: second)
        chapter.novel = try one("novel", in: second)
        try second.save()
        first.delete(novel)
        try first.save()
        #expect(try first.count(for: FetchRequest<Chapter>()) == 0)
        try second.mergeChanges()
        #expect(chapter.managedObjectContext == nil)
    }

    @Test func aDeletionIsDeniedByALinkThatAnotherContextMade() throws {
        let label: Label = try one("free", in: first)
        let novel: Novel = try one("other", in: second)
        novel.labels.insert(try one("free", in: second))
        try second.save()
        first.delete(label)
        let error = #expect(throws: ValidationError.self) { try first.save() }
        #expect(error.map { "\($0)" }?.contains("Label 2 cannot be deleted while") == true)
        try first.rollback()
    }

    @Test func aLinkThatTwoContextsMakeIsStoredOnce() throws {
        for context in [first, second] {
            let novel: Novel = try one("other", in: context)
            novel.labels.insert(try one("free", in: context))
        }
        try first.save()
        try second.save()
        let novel: Novel = try one("other", in: second)
        #expect(novel.labels.map(\.name) == ["free"])
        try first.mergeChanges()
        let seen: Label = try one("free", in: first)
        #expect(seen.novels.map(\.title) == ["other"])
    }

    @Test func aSaveFailsIfAnotherContextHasSetTheOneToOneLink() throws {
        for context in [first, second] {
            let passport = Passport(context: context)
            passport.owner = try one("a", in: context)
        }
        try first.save()
        let error = #expect(throws: ValidationError.self) { try second.save() }
        #expect(error.map { "\($0)" }?.contains("owner must be unique") == true)
        try second.rollback()
    }

    @Test(arguments: [MergePolicy.mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .overwrite, .rollback])
    func mergePoliciesDecideBetweenTwoChangesOfALink(policy: MergePolicy) throws {
        let novels: [Novel] = try [one("novel", in: first), one("novel", in: second)]
        novels[0].writer = try one("b", in: first)
        novels[1].writer = nil
        novels[1].price = 7
        try first.save()
        #expect(throws: MergeConflicts.self) { try second.save() }
        second.mergePolicy = policy
        try second.save()
        try first.mergeChanges()
        let isOurs = policy == .mergeByPropertyObjectTrump || policy == .overwrite
        for (context, novel) in zip([first, second], novels) {
            let writer: Writer = try one("b", in: context)
            #expect(novel.writer === (isOurs ? nil : writer))
            #expect(Array(writer.novels) == (isOurs ? [] : [novel]))
            #expect(novel.price == (policy == .rollback ? 0 : 7))
        }
    }

    @Test func changedValuesAndConflictsNameRelatedObjectsByURI() throws {
        let novel: Novel = try one("novel", in: first)
        let (a, b): (Writer, Writer) = (try one("a", in: first), try one("b", in: first))
        novel.writer = b
        func text(_ writer: Writer) -> Value { .string(writer.objectID.uriRepresentation?.absoluteString ?? "") }
        #expect(novel.changedValues == ["writer": text(b)])
        #expect(novel.committedValues["writer"] == text(a))
        let same: Novel = try one("novel", in: second)
        same.writer = nil
        try second.save()
        let error = #expect(throws: MergeConflicts.self) { try first.save() }
        let conflict = try #require(error?.conflicts.first)
        #expect(conflict.original["writer"] == text(a) && conflict.inContext?["writer"] == text(b))
        #expect(conflict.inStore?["writer"] == .null)
        try first.rollback()
    }

    @Test func batchUpdatesKeepLinksAndBatchDeletesRemoveThem() throws {
        let novel: Novel = try one("novel", in: first)
        try second.execute(BatchUpdateRequest(entityName: "Novel", propertiesToUpdate: ["price": 9]))
        try first.mergeChanges()
        #expect(novel.price == 9 && novel.writer?.name == "a" && novel.labels.count == 1)
        var request = BatchInsertRequest(entityName: "Writer", rows: [["a"], ["c"]])
        request.onUniqueConflict = .update
        try second.execute(request)
        try first.mergeChanges()
        #expect(novel.writer?.name == "a")
        let writer: Writer = try one("b", in: first)
        #expect(writer.passport != nil)
        try second.execute(BatchDeleteRequest(entityName: "Writer"))
        try first.mergeChanges()
        #expect(novel.writer == nil)
        #expect(try first.count(for: FetchRequest<Passport>()) == 0)
        try second.execute(BatchDeleteRequest(entityName: "Novel"))
        try first.mergeChanges()
        let label: Label = try one("label", in: first)
        #expect(label.novels.isEmpty)
    }
}
