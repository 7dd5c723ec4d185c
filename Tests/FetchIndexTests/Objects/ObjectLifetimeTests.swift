import Foundation
import FetchIndexRecords
import FetchIndexTestSupport
import Testing

@testable import FetchIndex

/// A class with a stored property that isn't an attribute.
final class Draft: ManagedObject {
    @Attribute("text") var text = ""
    var saves = 0

    override func willSave() { saves += 1 }
}

/// Objects of a context keep its state alive, but objects that a context retains don't keep the context alive.
@Suite struct ObjectLifetimeTests {
    private let store: LiveStore
    private var container: PersistentContainer { store.container }

    init() throws {
        store = try LiveStore(.library)
        let context = store.container.newContext()
        let writer = context.writer("Ito")
        for number in 1...3 { context.novel("novel \(number)", by: writer).labels.insert(context.label("l\(number)")) }
        try context.save()
    }

    private func novels() throws -> [Novel] {
        var request = FetchRequest<Novel>()
        request.sortKeys = [SortKey(\.title)]
        return try container.newContext().fetch(request)
    }

    // MARK: Reading

    @Test func attributesAreReadAfterTheContextIsReleased() throws {
        #expect(try container.newContext().fetch(FetchRequest<Novel>()).map(\.title).sorted().last == "novel 3")
        #expect(try novels().map { try $0.value(of: "price", as: Int.self) } == [0, 0, 0])
    }

    @Test func relatedObjectsAreReadAfterTheContextIsReleased() throws {
        let writer = try #require(try novels().first?.writer)
        #expect(writer.name == "Ito")
        #expect(writer.novels.count == 3)
        let related = writer.novels
        #expect(related.map(\.title).sorted() == ["novel 1", "novel 2", "novel 3"])
        #expect(related.first?.labels.first?.novels.first?.writer === writer)
        #expect(try FetchPredicate("ANY novels.title == 'novel 2'").evaluate(with: writer))
    }

    @Test func rowsAreReadAfterTheControllerIsReleased() throws {
        func rows() throws -> [Novel] {
            var request = FetchRequest<Novel>()
            request.sortKeys = [SortKey(\.title)]
            let controller = try FetchedResultsController(
                fetchRequest: request, context: container.newContext(), sectionKey: .attribute("writer.name"))
            try controller.performFetch()
            return Array(controller.sections[0].objects)
        }
        #expect(try rows().map(\.title) == ["novel 1", "novel 2", "novel 3"])
    }

    @Test func anObjectByIDIsReadAfterTheContextIsReleased() throws {
        let id = try #require(try novels().first).objectID
        #expect(try container.newContext().existingObject(with: id, as: Novel.self).title == "novel 1")
        #expect(container.newContext().object(with: id)["title"] == "novel 1")
    }

    // MARK: Editing

    @Test func objectsAreEditedAndSavedAfterTheContextIsReleased() throws {
        let novels = try novels()
        for (index, novel) in novels.enumerated() { novel.price = 100 + index }
        novels[2].writer = nil
        let context = try #require(novels[0].managedObjectContext)
        #expect(context.updatedObjects.count == 3)
        try context.save()
        #expect(try self.novels().map(\.price) == [100, 101, 102])
        #expect(try self.novels().map { $0.writer?.name } == ["Ito", "Ito", nil])
    }

    @Test func newObjectsThatOnlyTheReleasedContextRetainedAreSaved() throws {
        func makeNovel() -> Novel {
            let context = container.newContext()
            context.transactionAuthor = "nobody"
            let novel = context.novel("new", by: context.writer("Oe"))
            novel.labels.insert(context.label("new"))
            context.delete(context.novel("never"))
            return novel
        }
        let novel = makeNovel()
        #expect(novel.writer?.name == "Oe")
        #expect(novel.labels.map(\.name) == ["new"])
        try #require(novel.managedObjectContext).save()
        #expect(!novel.hasChanges && !novel.objectID.isTemporary)
        let context = container.newContext()
        #expect(try context.count(for: FetchRequest<Novel>()) == 4)
        #expect(try context.fetch(FetchRequest<Writer>()).map(\.name).sorted() == ["Ito", "Oe"])
        #expect(try context.fetchHistory(after: 0).last?.author == "nobody")
    }

    @Test func aNewObjectIsSavedAfterItsContextIsReleased() throws {
        let label = Label(context: container.newContext())
        label.name = "alone"
        try #require(label.managedObjectContext).save()
        #expect(try container.newContext().count(for: FetchRequest<Label>()) == 4)
    }

    @Test func editsOfReleasedObjectsAreFetchedAndRolledBack() throws {
        func first() throws -> Novel {
            let novels = try novels()
            novels[1].title = "zero"
            novels[2].managedObjectContext?.delete(novels[2])
            return novels[0]
        }
        let novel = try first()
        let context = try #require(novel.managedObjectContext)
        #expect(context.hasChanges && context.deletedObjects.count == 1)
        #expect(try context.fetch(FetchRequest<Novel>()).map(\.title).sorted() == ["novel 1", "zero"])
        try context.rollback()
        #expect(try context.fetch(FetchRequest<Novel>()).map(\.title).sorted() == ["novel 1", "novel 2", "novel 3"])
    }

    @Test func objectsOfAReleasedContextShareOneRecreatedContext() throws {
        let novels = try novels()
        let (first, second) = (novels[0].managedObjectContext, novels[1].managedObjectContext)
        #expect(first === second)
        #expect(first?.object(with: novels[2].objectID) === novels[2])
    }

    /// While its context lives, an object with unsaved edits stays alive, so its stored properties that aren't
    /// attributes keep their values.
    @Test func aContextRetainsItsUnsavedObjects() throws {
        let store = try LiveStore(Model(Draft.self))
        let context = store.container.newContext()
        Draft(context: context).text = "first"
        weak var draft: Draft?
        do {
            let made = Draft(context: context)
            made.saves = 10
            draft = made
        }
        #expect(draft != nil)
        context.processPendingChanges()
        draft?.text = "second"
        let known = try #require(draft)
        try context.save()
        #expect(known.saves == 11)
        withExtendedLifetime(known) {}
    }

    // MARK: Lifetime

    /// Weak references to the parts of a context. They become nil once nothing else retains the parts.
    private final class Remains {
        weak var context: ManagedObjectContext?
        weak var core: ContextCore?
        weak var snapshot: Snapshot?

        init(_ context: ManagedObjectContext) throws {
            (self.context, core, snapshot) = (context, context.core, try context.snapshot())
        }

        var areGone: Bool { context == nil && core == nil && snapshot == nil }
    }

    /// Runs a body with a context. Then makes a newer commit, so that the store itself doesn't retain the context's
    /// snapshot.
    private func remains(_ body: (ManagedObjectContext) throws -> Void) throws -> Remains {
        func run() throws -> Remains {
            let context = container.newContext()
            try body(context)
            return try Remains(context)
        }
        let remains = try run()
        let other = container.newContext()
        _ = other.label("newer")
        try other.save()
        return remains
    }

    @Test func aContextsStateIsReleasedWithItsLastObject() throws {
        var kept: [ManagedObject] = []
        let remains = try remains { kept = try $0.fetch(FetchRequest<Novel>()) }
        #expect(remains.core != nil && remains.snapshot != nil)
        kept.removeLast()
        #expect(remains.core != nil)
        kept = []
        #expect(remains.areGone)
    }

    @Test func unsavedEditsDoNotKeepAContextAlive() throws {
        #expect(
            try remains { context in
                context.isUndoEnabled = true
                let novels = try context.fetch(FetchRequest<Novel>())
                novels[0].title = "edited"
                context.delete(novels[1])
                context.processPendingChanges()
                novels[2].labels.insert(context.label("unsaved"))
                _ = context.undo()
            }.areGone)
    }

    @Test func savesAndRollbacksDoNotKeepAContextAlive() throws {
        #expect(
            try remains { context in
                let novels = try context.fetch(FetchRequest<Novel>())
                novels[0].title = "edited"
                try context.save()
                novels[1].title = "edited"
                try context.rollback()
                context.delete(novels[2])
                try context.save()
            }.areGone)
    }

    @Test func aContextIsReleasedWithItsController() throws {
        var request = FetchRequest<Novel>()
        request.sortKeys = [SortKey(\.title)]
        var controller: FetchedResultsController<Novel>?
        let remains = try remains {
            controller = try FetchedResultsController(fetchRequest: request, context: $0, cacheName: "kept")
            try controller?.performFetch()
            controller?.object(at: RowPath(section: 0, row: 0)).price = 7
        }
        #expect(remains.context != nil)
        controller = nil
        #expect(remains.areGone)
    }

    @Test func aReleasedContextsStateIsReleasedWithItsLastObjectEvenIfEdited() throws {
        var kept: Novel?
        let remains = try remains { kept = try $0.fetch(FetchRequest<Novel>()).first }
        kept?.title = "edited"
        kept?.writer?.name = "edited"
        #expect(remains.context == nil && remains.core != nil)
        kept = nil
        #expect(remains.areGone)
    }

    @Test func aResetContextIsReleasedEvenIfItsObjectsStay() throws {
        var kept: [Novel] = []
        let remains = try remains {
            kept = try $0.fetch(FetchRequest<Novel>())
            kept[0].title = "edited"
            try $0.reset()
        }
        #expect(remains.areGone)
        #expect(kept.allSatisfy { $0.managedObjectContext == nil })
    }

    /// An object of a released context gets automatic merges while it's alive. Afterwards the context's state is
    /// released.
    @Test @MainActor func automaticMergesContinueAfterTheContextIsReleased() async throws {
        func novel() throws -> Novel {
            let context = container.newContext()
            context.automaticallyMergesChanges = true
            var request = FetchRequest<Novel>()
            request.sortKeys = [SortKey(\.title)]
            return try #require(try context.fetch(request).first)
        }
        var novel: Novel? = try novel()
        weak let core = novel?.core
        let id = try #require(novel?.objectID)
        try await container.perform { context in
            try context.existingObject(with: id, as: Novel.self).price = 42
            try context.save()
        }
        while novel?.price != 42 { try await Task.sleep(for: .milliseconds(5)) }
        novel = nil
        #expect(core == nil)
    }
}
