import FetchIndex
import Foundation
import OrderCaches
import Records
import TestSupport
import Testing

final class Account: ManagedObject {
    @Attribute("name", isUnique: true) var name: String
    @Attribute("owner") var owner: String?
    @Attribute("balance") var balance: Int

    override func validate() throws { if balance < 0 { throw Overdrawn() } }

    struct Overdrawn: Error, CustomStringConvertible { var description: String { "is overdrawn" } }
}

@Suite struct ContextTests {
    let store: LiveStore
    let context: ManagedObjectContext

    init() throws {
        store = try LiveStore(Model(Account.self))
        context = store.container.newContext()
        context.isUndoEnabled = true
    }

    @discardableResult
    private func account(_ name: String, _ balance: Int = 0, in context: ManagedObjectContext? = nil) -> Account {
        let account = Account(context: context ?? self.context)
        (account.name, account.balance) = (name, balance)
        return account
    }

    private func fetch(_ name: String, in context: ManagedObjectContext) throws -> Account {
        var request = FetchRequest<Account>()
        request.predicate = try FetchPredicate("name == %@", name)
        return try #require(try context.fetch(request).first)
    }

    // MARK: Objects

    @Test func thereIsOneObjectForAnIdAndContext() throws {
        let a = account("a")
        let temporary = a.objectID
        #expect(context.object(with: temporary) === a && context.registeredObject(for: temporary) === a)
        try context.save()
        #expect(try context.object(with: a.objectID) === a && fetch("a", in: context) === a)
        #expect(context.registeredObject(for: temporary) == nil && a.objectID.number == 1)
        let other = store.container.newContext()
        let same = try fetch("a", in: other)
        #expect(same !== a && same.objectID == a.objectID && same.isFault)
        #expect(same.name == "a" && !same.isFault)
        #expect(throws: StoreError.unknownObject("99")) {
            try context.existingObject(with: try context.objectID(of: "Account", number: 99))
        }
        #expect(throws: StoreError.unknownEntity("Nothing")) { try context.insert("Nothing") }
    }

    @Test func objectsThatNobodyHoldsAreLetGo() throws {
        for number in 0..<10 { account("\(number)") }
        try context.save()
        context.isUndoEnabled = false
        weak var held: Account?
        try { held = try fetch("3", in: context) }()
        #expect(held == nil)
        var edited: Account? = try fetch("3", in: context)
        edited?.balance = 5
        edited = nil
        #expect(context.updatedObjects.count == 1 && context.hasChanges, "an edited object is held")
    }

    @Test func statesFollowTheEdits() throws {
        let a = account("a", 1)
        #expect(a.isInserted && a.hasChanges && context.insertedObjects.count == 1)
        try context.save()
        #expect(!a.hasChanges && !context.hasChanges)
        a.balance = 2
        #expect(a.isUpdated && context.updatedObjects.count == 1)
        a.balance = 1
        #expect(!a.isUpdated && !context.hasChanges, "back to what is saved is no change")
        context.delete(a)
        #expect(a.isDeleted && context.deletedObjects.count == 1)
        try context.save()
        #expect(!a.isDeleted && a.managedObjectContext == nil && a.name == "a")
        let never = account("b")
        context.delete(never)
        try context.save()
        #expect(try never.managedObjectContext == nil && context.count(for: FetchRequest<Account>()) == 0)
    }

    @Test func refreshingForgetsOrKeepsEdits() throws {
        let a = account("a", 1)
        try context.save()
        a.balance = 2
        context.refresh(a, mergeChanges: true)
        #expect(a.balance == 2 && a.isFault && a.name == "a" && !a.isFault)
        context.refresh(a, mergeChanges: false)
        #expect(a.isFault && a.balance == 1 && !context.hasChanges)
    }

    @Test func resettingLetsGoOfAllObjects() throws {
        let a = account("a", 1)
        try context.save()
        a.balance = 2
        try context.reset()
        #expect(a.managedObjectContext == nil && !context.hasChanges)
        #expect(try fetch("a", in: context).balance == 1)
    }

    // MARK: Validation

    @Test func whatIsWrongNamesObjectAndAttribute() throws {
        let account = Account(context: context)
        account.balance = -1
        let error = #expect(throws: ValidationError.self) { try context.save() }
        #expect(
            error?.description
                == "objects cannot be saved: new Account 1: name is required; new Account 1: is overdrawn")
        #expect(error?.failures.map(\.attribute) == ["name", nil] && context.hasChanges)
        account.name = "a"
        account.balance = 1
        try context.save()
    }

    @Test func aUniqueValueIsTakenOnceAndFreeAgainInTheSameSave() throws {
        account("a")
        try context.save()
        let twin = account("a")
        let error = #expect(throws: ValidationError.self) { try context.save() }
        #expect(
            error?.description == "objects cannot be saved: new Account 2: name is unique, and another object has \"a\""
        )
        #expect(try store.container.newContext().count(for: FetchRequest<Account>()) == 1)
        let old = try store.container.model().entity(named: "Account")
        #expect(old != nil && twin.isInserted)
        var request = FetchRequest<Account>()
        request.sortKeys = [SortKey(\.name)]
        request.includesPendingChanges = false
        context.delete(try #require(try context.fetch(request).first))
        try context.save()
        #expect(twin.objectID.number == 2)
    }

    // MARK: Conflicts

    private func conflict(_ policy: MergePolicy, deletes: Bool = false, isDeleted: Bool = false) throws -> Account {
        account("a", 1).owner = "old"
        try context.save()
        let other = store.container.newContext()
        let theirs = try fetch("a", in: other)
        let ours = try fetch("a", in: context)
        if isDeleted { other.delete(theirs) } else { (theirs.balance, theirs.owner) = (2, "theirs") }
        try other.save()
        if deletes { context.delete(ours) } else { ours.balance = 3 }
        context.mergePolicy = policy
        return ours
    }

    private func stored() throws -> [String] {
        let context = store.container.newContext()
        return try context.fetch(FetchRequest<Account>()).map { "\($0.balance) \($0.owner ?? "-")" }
    }

    @Test func theErrorPolicyReportsBothSides() throws {
        _ = try conflict(.error)
        let error = #expect(throws: MergeConflicts.self) { try context.save() }
        let found = try #require(error?.conflicts.first)
        #expect(found.original["balance"] == 1 && found.inContext?["balance"] == 3 && found.inStore?["balance"] == 2)
        #expect(error?.description == "the save conflicts with the store: Account 1 was changed by someone else")
        #expect(try context.hasChanges && stored() == ["2 theirs"])
        try context.mergeChanges()
        try context.save()
        #expect(try stored() == ["3 theirs"], "merging settles it, by property")
    }

    @Test(arguments: [
        (MergePolicy.mergeByPropertyStoreTrump, ["2 theirs"]), (.mergeByPropertyObjectTrump, ["3 theirs"]),
        (.overwrite, ["3 old"]), (.rollback, ["2 theirs"]),
    ]) func policiesSettleAnUpdate(policy: MergePolicy, expected: [String]) throws {
        let ours = try conflict(policy)
        try context.save()
        #expect(try stored() == expected)
        #expect("\(ours.balance) \(ours.owner ?? "-")" == expected[0] && !context.hasChanges)
    }

    @Test(arguments: [
        (MergePolicy.mergeByPropertyStoreTrump, ["2 theirs"]), (.mergeByPropertyObjectTrump, []), (.overwrite, []),
        (.rollback, ["2 theirs"]),
    ]) func policiesSettleADeletionOfWhatChanged(policy: MergePolicy, expected: [String]) throws {
        let ours = try conflict(policy, deletes: true)
        try context.save()
        #expect(try stored() == expected && !context.hasChanges)
        #expect((ours.managedObjectContext == nil) == expected.isEmpty)
    }

    @Test(arguments: [
        (MergePolicy.mergeByPropertyStoreTrump, []), (.mergeByPropertyObjectTrump, ["3 old"]),
        (.overwrite, ["3 old"]), (.rollback, []),
    ]) func policiesSettleAnUpdateOfWhatIsGone(policy: MergePolicy, expected: [String]) throws {
        let ours = try conflict(policy, isDeleted: true)
        try context.save()
        #expect(try stored() == expected && !context.hasChanges)
        #expect(expected.isEmpty ? ours.managedObjectContext == nil : ours.objectID.number == 2)
    }

    @Test func whatIsGoneOnBothSidesIsNoConflict() throws {
        _ = try conflict(.error, deletes: true, isDeleted: true)
        try context.save()
        #expect(try stored() == [])
    }

    // MARK: Undo

    @Test func editsAreUndoneGroupByGroup() throws {
        let a = account("a", 1)
        context.processPendingChanges()
        a.balance = 2
        a.owner = "x"
        context.processPendingChanges()
        context.delete(a)
        #expect(context.undo() && !a.isDeleted && a.balance == 2)
        #expect(context.undo() && a.balance == 1 && a.owner == nil)
        #expect(context.redo() && a.balance == 2 && a.owner == "x")
        #expect(context.undo() && context.undo() && a.managedObjectContext == nil && !context.hasChanges)
        #expect(!context.undo() && context.redo() && a.name == "a" && a.isInserted)
        a.balance = 9
        context.processPendingChanges()
        #expect(!context.redo(), "a new edit ends what can be done again")
    }

    @Test func whatWasSavedCanBeUndoneToo() throws {
        let a = account("a", 1)
        try context.save()
        context.delete(a)
        try context.save()
        #expect(context.undo() && a.isInserted && a.balance == 1)
        try context.save()
        #expect(try a.objectID.number == 2 && stored() == ["1 -"])
        #expect(context.undo() == true)
        #expect(context.deletedObjects.count + (context.hasChanges ? 0 : 1) == 1)
    }

    // MARK: Merging and history

    @Test func mergingMovesOnAndKeepsEdits() throws {
        let a = account("a", 1)
        account("b", 1)
        try context.save()
        a.owner = "mine"
        let other = store.container.newContext()
        try fetch("a", in: other).balance = 7
        other.delete(try fetch("b", in: other))
        account("c", 3, in: other)
        try other.save()
        #expect(try a.balance == 1 && context.count(for: FetchRequest<Account>()) == 2, "pinned until it moves")
        let before = try context.commit
        try context.mergeChanges()
        #expect(try context.commit == before + 1)
        #expect(a.balance == 7 && a.owner == "mine" && context.updatedObjects.count == 1)
        #expect(try context.count(for: FetchRequest<Account>()) == 2)
    }

    @Test @MainActor func contextsMergeByThemselves() async throws {
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

    @Test func aContextOfNoActorMergesWhenItIsUsed() throws {
        let mine = store.container.newContext(isolation: nil)
        mine.automaticallyMergesChanges = true
        #expect(try mine.count(for: FetchRequest<Account>()) == 0)
        account("a")
        try context.save()
        #expect(try mine.count(for: FetchRequest<Account>()) == 1)
    }

    @Test func historyTellsWhoDidWhat() throws {
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
        #expect(history.map(\.commit) == [1, 2, 3] && history.map(\.author) == ["import", "", ""])
        #expect(
            history.map { $0.changes.map { "\($0.kind) \($0.objectID.number)" } } == [
                ["insert 1", "insert 2"], ["delete 2", "update 1"], ["insert 3"],
            ])
        #expect(history.allSatisfy { abs($0.time.timeIntervalSinceNow) < 60 })
        try context.deleteHistory(before: 3)
        #expect(throws: StoreError.logTooShort(commit: 1)) { try context.fetchHistory(after: 1) }
        #expect(try context.fetchHistory(after: 2).count == 1)
    }

    @Test func aContextMovesOnOverALogThatWasCut() throws {
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

    @Test func aBatchThatFailsChangesNothing() throws {
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

    @Test func objectsSeeWhatABatchDid() throws {
        let a = account("a", 1), b = account("b", 2)
        try context.save()
        b.owner = "unsaved"
        #expect(
            try context.execute(
                BatchUpdateRequest(
                    entityName: "Account", predicate: FetchPredicate("balance < 5"), propertiesToUpdate: ["balance": 5])
            )
                == 2)
        #expect(a.balance == 5 && b.balance == 5 && b.owner == "unsaved" && b.isUpdated)
        #expect(
            try context.execute(BatchDeleteRequest(entityName: "Account", predicate: FetchPredicate("name == 'a'")))
                == 1)
        #expect(try a.managedObjectContext == nil && context.fetch(FetchRequest<Account>()) == [b])
    }
}

/// What a review found, each as it was found.
@Suite struct ContextRegressionTests {
    let store: LiveStore
    let context: ManagedObjectContext

    init() throws {
        store = try LiveStore(Model(Account.self, Book.self))
        context = store.container.newContext()
        context.isUndoEnabled = true
    }

    @discardableResult
    private func account(_ name: String, _ balance: Int = 0) -> Account {
        let account = Account(context: context)
        (account.name, account.balance) = (name, balance)
        return account
    }

    private func inAnother(_ body: (ManagedObjectContext, [Account]) throws -> Void) throws {
        let other = store.container.newContext()
        try body(other, try other.fetch(FetchRequest<Account>()))
        try other.save()
    }

    @Test func undoingLeavesWhatOthersChanged() throws {
        let a = account("a", 1)
        try context.save()
        a.balance = 2
        try context.save()
        try inAnother { _, accounts in accounts[0].owner = "theirs" }
        try context.mergeChanges()
        #expect(context.undo() && a.balance == 1 && a.owner == "theirs")
        try inAnother { other, accounts in other.delete(accounts[0]) }
        try context.rollback()
        try context.mergeChanges()
        context.undo()
        try context.save()
        #expect(try context.count(for: FetchRequest<Account>()) == 0, "whom others deleted stays away")
    }

    @Test func undoingTheFirstEditOfAProcessedObjectKeepsIt() throws {
        let account = Account(context: context)
        context.processPendingChanges()
        account.name = "x"
        #expect(context.undo() && account.isInserted && account.name == "")
    }

    @Test func textsThatLookAlikeAreNotTheSame() throws {
        let decomposed = "\u{304B}\u{3099}", composed = "\u{304C}"
        let a = account(decomposed)
        try context.save()
        a.name = composed
        #expect(a.hasChanges)
        try context.save()
        let other = store.container.newContext()
        #expect(try Array(other.fetch(FetchRequest<Account>())[0].name.unicodeScalars).count == 1)
    }

    @Test func anObjectOfAnOlderModelKeepsNewAttributes() throws {
        let a = account("a", 1)
        try context.save()
        let attributes = try #require(store.container.model().entity(named: "Account")).attributes
        let grown = Model(entities: [Entity("Account", attributes + [AttributeDescription("rating", .integer)])])
        let newer = try PersistentContainer(
            at: URL(fileURLWithPath: store.folder.path), model: grown, durability: .none)
        let theirs = newer.newContext()
        try #require(try theirs.fetch(FetchRequest<ManagedObject>(entityName: "Account")).first)["rating"] = 5
        try theirs.save()
        try context.mergeChanges()
        a.balance = 2
        try context.save()
        try theirs.mergeChanges()
        let object = try #require(try theirs.fetch(FetchRequest<ManagedObject>(entityName: "Account")).first)
        #expect(object["rating"] == 5 && object["balance"] == 2)
    }

    @Test func whoeverKeepsIdsLearnsThePermanentOnes() async throws {
        var request = FetchRequest<Account>()
        request.sortKeys = [SortKey(\.name)]
        let controller = try FetchedResultsController(fetchRequest: request, context: context)
        try controller.performFetch()
        var changes = controller.changes.makeAsyncIterator()
        let a = account("a")
        context.processPendingChanges()
        let temporary = a.objectID
        try context.save()
        let inserted = await changes.next(), saved = await changes.next()
        #expect(inserted?.rows == [.insert(temporary, to: RowPath(section: 0, row: 0))])
        #expect(saved?.isEmpty == true && saved?.renumbered == [temporary: a.objectID])
    }

    @Test func anObjectThatOthersDeletedIsLetGo() throws {
        let a = account("a", 1)
        try context.save()
        a.balance = 2
        try inAnother { other, accounts in other.delete(accounts[0]) }
        try context.mergeChanges()
        try context.rollback()
        #expect(a.managedObjectContext == nil)
        account("b")
        try context.save()
    }

    @Test func uniqueValuesAreHandedOverInOneSave() throws {
        let a = account("x"), b = account("y"), c = account("z")
        try context.save()
        (a.name, b.name, c.name) = ("y", "z", "x")
        try context.save()
        #expect(throws: ValidationError.self) {
            a.name = "z"
            try context.save()
        }
        try context.rollback()
        context.delete(a)
        b.name = "y"
        try context.save()
        #expect(try context.fetch(FetchRequest<Account>()).map(\.name).sorted() == ["x", "y"])
    }

    @Test func aThreadDoesNotWaitForItself() throws {
        let writer = try BatchWriter(store.container, entity: "Account")
        try writer.insert(["a", .null, 1])
        account("b")
        #expect(throws: StoreError.wouldWaitForItself) { try context.save() }
        #expect(throws: StoreError.wouldWaitForItself) {
            writer.rollback()
            try context.execute(
                BatchInsertRequest(entityName: "Account") {
                    try context.save()
                    return nil
                })
        }
        try context.save()
    }

    final class Pair: ManagedObject {
        @Attribute("name") var name: String
        var other: Pair?
        override func prepareForDeletion() { if let other { managedObjectContext?.delete(other) } }
    }

    @Test func objectsMayDeleteEachOther() throws {
        let store = try LiveStore(Model(Pair.self))
        let context = store.container.newContext()
        let one = Pair(context: context), two = Pair(context: context)
        (one.name, two.name, one.other, two.other) = ("1", "2", two, one)
        context.delete(one)
        #expect(one.isDeleted && two.isDeleted)
        (one.other, two.other) = (nil, nil)
    }

    @Test(arguments: [
        SectionKey.bucket("balance", width: 0), .bucket("balance", width: -1), .prefix("name", -2),
        .prefix("name", .max),
        .computed("title") { (book: Book) in book.title },
    ]) func aSectionKeyThatCannotBeIsAnError(key: SectionKey) throws {
        var request = FetchRequest<Account>()
        request.sortKeys = [SortKey(\.name)]
        let controller = try FetchedResultsController(fetchRequest: request, context: context, sectionKey: key)
        #expect(throws: RequestError.self) { try controller.performFetch() }
    }

    final class Other: ManagedObject {
        @Attribute("name") var name: String
        override class var entityName: String { "Account" }
    }

    @Test func anEntityHasOneClassInAContext() throws {
        #expect(throws: ContextError.wrongClass(entity: "Account", "Account")) {
            try context.fetch(FetchRequest<Other>())
        }
    }

    @Test func aLoopThatDeletesEndsWithTheResults() throws {
        for number in 0..<4 { account("\(number)") }
        try context.save()
        var request = FetchRequest<Account>()
        request.sortKeys = [SortKey(\.name)]
        let controller = try FetchedResultsController(fetchRequest: request, context: context)
        try controller.performFetch()
        var seen = 0
        for account in try #require(controller.fetchedObjects) {
            context.delete(account)
            try context.save()
            seen += 1
        }
        #expect(seen == 2 && controller.fetchedObjects?.count == 2)
    }

    /// Savings of one entity move the caches of others along, so that the log can be cut.
    @Test func aCacheOfAnIdleEntityMovesAlong() throws {
        var request = FetchRequest<Book>()
        request.sortKeys = [SortKey(\.price)]
        let controller = try FetchedResultsController(fetchRequest: request, context: context, cacheName: "books")
        try controller.performFetch()
        for number in 0..<5 {
            account("\(number)")
            try context.save()
        }
        let header = try CacheDirectory.header("books", in: try store.container.store.snapshot())
        #expect(try header?.commit == context.commit)
    }
}
