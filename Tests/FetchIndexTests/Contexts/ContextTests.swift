import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

@Suite struct ContextTests {
    let store: LiveStore
    let context: ManagedObjectContext

    init() throws {
        store = try LiveStore(Model(Account.self))
        context = store.container.newContext()
        context.isUndoEnabled = true
    }

    @discardableResult
    func account(_ name: String, _ balance: Int = 0, in context: ManagedObjectContext? = nil) -> Account {
        let account = Account(context: context ?? self.context)
        (account.name, account.balance) = (name, balance)
        return account
    }

    func fetch(_ name: String, in context: ManagedObjectContext) throws -> Account {
        var request = FetchRequest<Account>()
        request.predicate = try FetchPredicate("name == %@", name)
        return try #require(try context.fetch(request).first)
    }

    func stored() throws -> [String] {
        let context = store.container.newContext()
        return try context.fetch(FetchRequest<Account>()).map { "\($0.balance) \($0.owner ?? "-")" }
    }

    // MARK: Objects

    @Test func aContextHasOneObjectForEachID() throws {
        let a = account("a")
        let temporary = a.objectID
        #expect(context.object(with: temporary) === a)
        #expect(context.registeredObject(for: temporary) === a)
        try context.save()
        #expect(context.object(with: a.objectID) === a)
        #expect(try fetch("a", in: context) === a)
        #expect(context.registeredObject(for: temporary) == nil)
        #expect(a.objectID.number == 1)
        let other = store.container.newContext()
        let same = try fetch("a", in: other)
        #expect(same !== a)
        #expect(same.objectID == a.objectID)
        #expect(same.isFault)
        #expect(same.name == "a")
        #expect(!same.isFault)
        #expect(throws: StoreError.unknownObject("99")) {
            try context.existingObject(with: try context.objectID(of: "Account", number: 99))
        }
        #expect(throws: StoreError.unknownEntity("Nothing")) { try context.insert("Nothing") }
    }

    @Test func unreferencedObjectsAreReleasedUnlessEdited() throws {
        for number in 0..<10 { account("\(number)") }
        try context.save()
        context.isUndoEnabled = false
        weak var held: Account?
        try { held = try fetch("3", in: context) }()
        #expect(held == nil)
        var edited: Account? = try fetch("3", in: context)
        edited?.balance = 5
        edited = nil
        #expect(context.updatedObjects.count == 1, "an edited object is retained")
        #expect(context.hasChanges, "an edited object is retained")
    }

    @Test func theStatesOfAnObjectFollowItsEdits() throws {
        let a = account("a", 1)
        #expect(a.isInserted)
        #expect(a.hasChanges)
        #expect(context.insertedObjects.count == 1)
        try context.save()
        #expect(!a.hasChanges)
        #expect(!context.hasChanges)
        a.balance = 2
        #expect(a.isUpdated)
        #expect(context.updatedObjects.count == 1)
        a.balance = 1
        #expect(!a.isUpdated, "setting the saved value is no change")
        #expect(!context.hasChanges, "setting the saved value is no change")
        context.delete(a)
        #expect(a.isDeleted)
        #expect(context.deletedObjects.count == 1)
        try context.save()
        #expect(!a.isDeleted)
        #expect(a.managedObjectContext == nil)
        #expect(a.name == "a")
        let never = account("b")
        context.delete(never)
        try context.save()
        #expect(never.managedObjectContext == nil)
        #expect(try context.count(for: FetchRequest<Account>()) == 0)
    }

    @Test func aRefreshKeepsEditsOnlyIfItMergesChanges() throws {
        let a = account("a", 1)
        try context.save()
        a.balance = 2
        context.refresh(a, mergeChanges: true)
        #expect(a.balance == 2)
        #expect(a.isFault)
        #expect(a.name == "a")
        #expect(!a.isFault)
        context.refresh(a, mergeChanges: false)
        #expect(a.isFault)
        #expect(a.balance == 1)
        #expect(!context.hasChanges)
    }

    @Test func aResetReleasesObjectsAndDropsEdits() throws {
        let a = account("a", 1)
        try context.save()
        a.balance = 2
        try context.reset()
        #expect(a.managedObjectContext == nil)
        #expect(!context.hasChanges)
        #expect(try fetch("a", in: context).balance == 1)
    }

    @Test func canonicallyEquivalentTextsAreDifferentValues() throws {
        let decomposed = "\u{304B}\u{3099}", composed = "\u{304C}"
        let a = account(decomposed)
        try context.save()
        a.name = composed
        #expect(a.hasChanges)
        try context.save()
        let other = store.container.newContext()
        #expect(try Array(other.fetch(FetchRequest<Account>())[0].name.unicodeScalars).count == 1)
    }

    final class Pair: ManagedObject {
        @Attribute("name") var name: String
        var other: Pair?
        override func prepareForDeletion() { if let other { managedObjectContext?.delete(other) } }
    }

    @Test func objectsMayDeleteEachOtherInPrepareForDeletion() throws {
        let store = try LiveStore(Model(Pair.self))
        let context = store.container.newContext()
        let one = Pair(context: context), two = Pair(context: context)
        (one.name, two.name, one.other, two.other) = ("1", "2", two, one)
        context.delete(one)
        #expect(one.isDeleted)
        #expect(two.isDeleted)
        (one.other, two.other) = (nil, nil)
    }

    final class Other: ManagedObject {
        @Attribute("name") var name: String
        override class var entityName: String { "Account" }
    }

    @Test func fetchingAnEntityAsAnotherClassIsAnError() throws {
        #expect(throws: ContextError.wrongClass(entity: "Account", "Account", asked: "Other")) {
            try context.fetch(FetchRequest<Other>())
        }
    }

    // MARK: Validation

    @Test func validationErrorsNameObjectAndAttribute() throws {
        let account = Account(context: context)
        account.balance = -1
        let error = #expect(throws: ValidationError.self) { try context.save() }
        #expect(
            error?.description
                == "objects cannot be saved: new Account 1: name is required; new Account 1: is overdrawn")
        #expect(error?.failures.map(\.attribute) == ["name", nil])
        #expect(context.hasChanges)
        account.name = "a"
        account.balance = 1
        try context.save()
    }

    @Test func aSaveMayReuseTheUniqueValueOfAnObjectThatItDeletes() throws {
        account("a")
        try context.save()
        let twin = account("a")
        let error = #expect(throws: ValidationError.self) { try context.save() }
        #expect(
            error?.description
                == "objects cannot be saved: new Account 2: name must be unique, but another object has \"a\""
        )
        #expect(try store.container.newContext().count(for: FetchRequest<Account>()) == 1)
        let old = try store.container.model().entity(named: "Account")
        #expect(old != nil)
        #expect(twin.isInserted)
        var request = FetchRequest<Account>()
        request.sortKeys = [SortKey(\.name)]
        request.includesPendingChanges = false
        context.delete(try #require(try context.fetch(request).first))
        try context.save()
        #expect(twin.objectID.number == 2)
    }

    @Test func objectsMayExchangeUniqueValuesInOneSave() throws {
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
}
