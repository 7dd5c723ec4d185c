import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

extension ContextTests {
    // MARK: Merging and history

    @Test func aMergeAdvancesTheContextAndKeepsEdits() throws {
        let a = account("a", 1)
        account("b", 1)
        try context.save()
        a.owner = "mine"
        let other = store.container.newContext()
        try fetch("a", in: other).balance = 7
        other.delete(try fetch("b", in: other))
        account("c", 3, in: other)
        try other.save()
        #expect(a.balance == 1, "pinned until the context advances")
        #expect(try context.count(for: FetchRequest<Account>()) == 2, "pinned until the context advances")
        let before = try context.commit
        try context.mergeChanges()
        #expect(try context.commit == before + 1)
        #expect(a.balance == 7)
        #expect(a.owner == "mine")
        #expect(context.updatedObjects.count == 1)
        #expect(try context.count(for: FetchRequest<Account>()) == 2)
    }

    @Test func rollbackReleasesAnObjectThatAnotherContextDeleted() throws {
        let a = account("a", 1)
        try context.save()
        a.balance = 2
        let other = store.container.newContext()
        other.delete(try fetch("a", in: other))
        try other.save()
        try context.mergeChanges()
        try context.rollback()
        #expect(a.managedObjectContext == nil)
        account("b")
        try context.save()
    }

    @Test @MainActor func anAutomaticMergeDeliversTheSaveOfAnotherContext() async throws {
        account("a", 1)
        try context.save()
        let mine = store.container.newContext()
        mine.automaticallyMergesChanges = true
        #expect(mine.automaticallyMergesChanges)
        var request = FetchRequest<Account>()
        request.sortKeys = [SortKey(\.balance)]
        let controller = try FetchedResultsController(fetchRequest: request, context: mine)
        try controller.performFetch()
        var changes = controller.changes.makeAsyncIterator()
        let container = store.container
        Task.detached {
            try await container.perform { context in
                let new = Account(context: context)
                (new.name, new.balance) = ("b", 0)
                try context.save()
            }
        }
        let change = await changes.next()
        #expect(change?.rows == [.insert(try mine.objectID(of: "Account", number: 2), to: RowPath(section: 0, row: 0))])
        #expect(controller.fetchedObjects?.map(\.name) == ["b", "a"])
        mine.automaticallyMergesChanges = false
        #expect(!mine.automaticallyMergesChanges)
    }

    @Test func aContextWithoutAnActorMergesWhenItIsUsed() throws {
        let mine = store.container.newContext(isolation: nil)
        mine.automaticallyMergesChanges = true
        #expect(try mine.count(for: FetchRequest<Account>()) == 0)
        account("a")
        try context.save()
        #expect(try mine.count(for: FetchRequest<Account>()) == 1)
    }

    @Test func historyListsAuthorsAndChanges() throws {
        context.transactionAuthor = "import"
        let a = account("a")
        account("b")
        try context.save()
        context.transactionAuthor = ""
        a.balance = 1
        context.delete(try fetch("b", in: context))
        try context.save()
        try context.execute(
            BatchInsertRequest(
                entityName: "Account", objects: [["name": "c", "balance": 1]], in: context.container.model()))
        let history = try context.fetchHistory(after: 0)
        #expect(history.map(\.commit) == [1, 2, 3])
        #expect(history.map(\.author) == ["import", "", ""])
        #expect(
            history.map { $0.changes.map { "\($0.kind) \($0.objectID.number)" } } == [
                ["insert 1", "insert 2"], ["delete 2", "update 1"], ["insert 3"],
            ])
        #expect(history.allSatisfy { abs($0.time.timeIntervalSinceNow) < 60 })
        try context.deleteHistory(before: 3)
        #expect(throws: StoreError.logTooShort(commit: 1)) { try context.fetchHistory(after: 1) }
        #expect(try context.fetchHistory(after: 2).count == 1)
    }

    @Test func aContextMergesAfterTheLogWasTrimmed() throws {
        account("a", 1)
        account("b", 2)
        try context.save()
        var request = FetchRequest<Account>()
        request.sortKeys = [SortKey(\.balance)]
        let controller = try FetchedResultsController(fetchRequest: request, context: context)
        let recorder = Recorder<Account>(\.name)
        controller.delegate = recorder
        try controller.performFetch()
        let other = store.container.newContext()
        try fetch("a", in: other).balance = 3
        other.delete(try fetch("b", in: other))
        account("c", 5, in: other)
        try other.save()
        try other.deleteHistory(before: 3)
        try context.mergeChanges()
        #expect(
            recorder.take() == ["will change", "b delete 0.1 -", "c insert - 0.1", "a update 0.0 0.0", "did change"])
    }

    // MARK: Batches

    @Test func aFailedBatchRequestLeavesTheStoreUnchanged() throws {
        #expect(throws: StoreError.self) {
            try context.execute(
                BatchInsertRequest(
                    entityName: "Account", objects: [["name": "a", "balance": 1], ["name": "b"]],
                    in: store.container.model()))
        }
        #expect(try stored() == [])
        #expect(throws: StoreError.unknownAttribute(entity: "Account", attribute: "x")) {
            try context.execute(BatchUpdateRequest(entityName: "Account", propertiesToUpdate: ["x": 1]))
        }
    }

    @Test func objectsGetTheValuesThatABatchRequestStored() throws {
        let a = account("a", 1), b = account("b", 2)
        try context.save()
        b.owner = "unsaved"
        #expect(
            try context.execute(
                BatchUpdateRequest(
                    entityName: "Account", predicate: FetchPredicate("balance < 5"), propertiesToUpdate: ["balance": 5])
            )
                == 2)
        #expect(a.balance == 5)
        #expect(b.balance == 5)
        #expect(b.owner == "unsaved")
        #expect(b.isUpdated)
        #expect(
            try context.execute(BatchDeleteRequest(entityName: "Account", predicate: FetchPredicate("name == 'a'")))
                == 1)
        #expect(a.managedObjectContext == nil)
        #expect(try context.fetch(FetchRequest<Account>()) == [b])
    }
}
