import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// Defects of key paths and links that a program from outside has met, each as a test.
@Suite struct KeyPathRegressionTests {
    private let store: LiveStore
    private let context: ManagedObjectContext

    init() throws {
        store = try LiveStore(.library)
        context = store.container.newContext()
    }

    @Test(
        arguments: [
            "writer.passport.number > 3", "writer.novels.@count > 0", "writer.name == 'n' OR ANY labels.name == 'l'",
        ])
    func newObjectsThatAreRelatedAreSavedTogether(format: String) throws {
        for cacheName in [nil, "c"] {
            let context = store.container.newContext()
            let controller = try FetchedResultsController(
                fetchRequest: FetchRequest<Novel>(
                    predicate: try FetchPredicate(format: format, argumentArray: []), sortKeys: [SortKey("title")]),
                context: context, cacheName: cacheName)
            try controller.performFetch()
            let recorder = Recorder<Novel>(\.title)
            controller.delegate = recorder
            let passport = Passport(context: context)
            passport.number = 4
            let writer = context.writer(cacheName == nil ? "n" : "n ")
            if cacheName != nil { _ = try context.fetch(FetchRequest<Writer>()).map { $0.name = "old \($0.objectID)" } }
            writer.name = "n"
            writer.passport = passport
            _ = context.novel("b", by: writer)
            context.processPendingChanges()
            #expect(recorder.take().count { $0.contains("insert") } == 1)
            try context.save()
            #expect(!recorder.take().contains { $0.contains("insert") })
            #expect(controller.fetchedObjects?.filter { $0.writer === writer }.count == 1)
        }
    }

    @Test func anUnsavedLinkEndsWithItsObject() throws {
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
        #expect(try matches("labels.@count == 0 AND writer == NIL") == ["b"])
        try context.save()
        #expect(!context.hasChanges)
    }

    @Test func whatIsLinkedElsewhereToADeletedObjectIsReleased() throws {
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

    @Test func aLinkToWhatIsGoneIsNamedOrDropped() throws {
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

    @Test func valuesNameRelatedObjects() throws {
        let (a, b) = (context.writer("a"), context.writer("b"))
        let novel = context.novel("n", by: a)
        try context.save()
        novel.writer = b
        func text(_ writer: Writer) -> Value { .string(writer.objectID.uriRepresentation?.absoluteString ?? "") }
        #expect(novel.changedValues == ["writer": text(b)])
        #expect(novel.committedValues["writer"] == text(a))
        let other = store.container.newContext()
        try other.existingObject(with: novel.objectID, as: Novel.self).writer = nil
        try other.save()
        let error = #expect(throws: MergeConflicts.self) { try context.save() }
        let conflict = try #require(error?.conflicts.first)
        #expect(conflict.original["writer"] == text(a) && conflict.inContext?["writer"] == text(b))
        #expect(conflict.inStore?["writer"] == .null)
        try context.rollback()
    }

    @Test func aListIsNotComparedWithNil() throws {
        let error = #expect(throws: FetchPredicateError.self) { try matches("labels == NIL") }
        #expect(error.map { "\($0)" }?.contains("write labels.@count == 0") == true)
    }

    private func matches(_ format: String, _ arguments: any PredicateArgument...) throws -> [String] {
        var request = FetchRequest<Novel>(sortKeys: [SortKey("title")])
        request.predicate = try FetchPredicate(format: format, argumentArray: arguments)
        return try context.fetch(request).map(\.title)
    }

    @Test func objectsThatAreNotSavedAreCompared() throws {
        let writer = context.writer("w")
        _ = context.novel("a")
        _ = context.novel("b", by: writer)
        #expect(try matches("writer == %@", writer.objectID) == ["b"])
        #expect(try matches("writer != %@", writer.objectID) == ["a"])
        try context.save()
        #expect(try matches("writer == %@", writer.objectID) == ["b"])
        let novel = try #require(try context.fetch(FetchRequest<Novel>()).first)
        let error = #expect(throws: FetchPredicateError.self) { try matches("writer == %@", novel.objectID) }
        #expect(error.map { "\($0)" }?.contains("an object is compared with an object of another entity") == true)
    }

    @Test func aCountBehindAnObjectReadsNoObjects() throws {
        let writer = context.writer("w")
        for number in 0..<2000 { _ = context.novel("\(number)", by: writer) }
        try context.save()
        var request = FetchRequest<Novel>(sortKeys: [])
        request.predicate = try FetchPredicate("writer.novels.@count == 2000")
        #expect(try context.count(for: request) == 2000)
    }
}
