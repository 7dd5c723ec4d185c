import FetchIndex
import FetchIndexTestSupport
import Testing

/// Undo reverts the context's own edits, saved or not. It keeps the values of other attributes, and the deletions, that
/// other contexts saved.
@Suite struct UndoTests {
    let store: LiveStore
    let context: ManagedObjectContext

    init() throws {
        store = try LiveStore(Model(Account.self, Book.self))
        context = store.container.newContext()
        context.isUndoEnabled = true
    }

    private func account(_ name: String, _ balance: Int = 0) -> Account {
        let account = Account(context: context)
        (account.name, account.balance) = (name, balance)
        return account
    }

    private func book(_ title: String) -> Book {
        let book = Book(context: context)
        (book.title, book.publisher, book.price) = (title, "P", 1)
        return book
    }

    /// Edits the accounts in another context and saves them there.
    private func inAnother(_ body: (ManagedObjectContext, [Account]) throws -> Void) throws {
        let other = store.container.newContext()
        try body(other, try other.fetch(FetchRequest<Account>()))
        try other.save()
    }

    @Test func editsAreUndoneGroupByGroup() throws {
        let a = account("a", 1)
        context.processPendingChanges()
        a.balance = 2
        a.owner = "x"
        context.processPendingChanges()
        context.delete(a)
        #expect(context.undo())
        #expect(!a.isDeleted)
        #expect(a.balance == 2)
        #expect(context.undo())
        #expect(a.balance == 1)
        #expect(a.owner == nil)
        #expect(context.redo())
        #expect(a.balance == 2)
        #expect(a.owner == "x")
        #expect(context.undo())
        #expect(context.undo())
        #expect(a.managedObjectContext == nil)
        #expect(!context.hasChanges)
        #expect(!context.undo())
        #expect(context.redo())
        #expect(a.name == "a")
        #expect(a.isInserted)
        a.balance = 9
        context.processPendingChanges()
        #expect(!context.redo(), "after a new edit, nothing can be redone")
    }

    @Test func savedEditsCanBeUndone() throws {
        let a = account("a", 1)
        try context.save()
        context.delete(a)
        try context.save()
        #expect(context.undo())
        #expect(a.isInserted)
        #expect(a.balance == 1)
        try context.save()
        #expect(a.objectID.number == 2)
        #expect(try store.container.newContext().fetch(FetchRequest<Account>()).map(\.balance) == [1])
        #expect(context.undo() == true)
        #expect(context.deletedObjects.count + (context.hasChanges ? 0 : 1) == 1)
    }

    @Test func undoOfTheFirstEditKeepsANewObject() throws {
        let account = Account(context: context)
        context.processPendingChanges()
        account.name = "x"
        #expect(context.undo())
        #expect(account.isInserted)
        #expect(account.name == "")
    }

    @Test func undoKeepsOtherValuesThatAnotherContextSaved() throws {
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
        #expect(
            try context.count(for: FetchRequest<Account>()) == 0, "an object that another context deleted stays deleted"
        )
    }

    @Test func undoDoesNotRestoreAnObjectThatAnotherContextDeleted() throws {
        let mine = book("mine"), gone = book("gone")
        try context.save()
        (mine.title, gone.title) = ("mine 2", "gone 2")
        context.processPendingChanges()
        let other = store.container.newContext()
        for object in try other.fetch(FetchRequest<Book>()) where object.title == "gone" { other.delete(object) }
        try other.save()
        context.mergePolicy = .rollback
        try context.mergeChanges()
        context.undo()
        #expect(mine.title == "mine")
        try context.save()
        let reader = store.container.newContext()
        #expect(try reader.fetch(FetchRequest<Book>()).map(\.title) == ["mine"])
    }
}
