import FetchIndex
import Foundation
import FetchIndexOrderCaches
import FetchIndexRecords
import FetchIndexTestSupport
import Testing

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
        #expect(context.undo())
        #expect(a.balance == 1)
        #expect(a.owner == "theirs")
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
        #expect(context.undo())
        #expect(account.isInserted)
        #expect(account.name == "")
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
        #expect(saved?.isEmpty == true)
        #expect(saved?.renumbered == [temporary: a.objectID])
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
            try context.insertRows(into: "Account") {
                try context.save()
                return nil
            }
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
        #expect(one.isDeleted)
        #expect(two.isDeleted)
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
        #expect(throws: ContextError.wrongClass(entity: "Account", "Account", asked: "Other")) {
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
        #expect(seen == 2)
        #expect(controller.fetchedObjects?.count == 2)
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
