import FetchIndex
import Foundation
import FetchIndexOrderCaches
import FetchIndexRecords
import FetchIndexTestSupport
import Testing

/// Saves of objects that another context has changed or deleted, under each merge policy.
@Suite struct ConflictTests {
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

    @Test func theErrorPolicyReportsOriginalEditedAndStoredValues() throws {
        _ = try conflict(.error)
        let error = #expect(throws: MergeConflicts.self) { try context.save() }
        let found = try #require(error?.conflicts.first)
        #expect(found.original["balance"] == 1)
        #expect(found.inContext?["balance"] == 3)
        #expect(found.inStore?["balance"] == 2)
        #expect(error?.description == "the save conflicts with the store: Account 1 was changed in the store meanwhile")
        #expect(context.hasChanges)
        #expect(try stored() == ["2 theirs"])
        try context.mergeChanges()
        try context.save()
        #expect(try stored() == ["3 theirs"], "a merge keeps the edited value and takes the others")
    }

    @Test(arguments: [
        (MergePolicy.mergeByPropertyStoreTrump, ["2 theirs"]), (.mergeByPropertyObjectTrump, ["3 theirs"]),
        (.overwrite, ["3 old"]), (.rollback, ["2 theirs"]),
    ]) func mergePoliciesDecideBetweenTwoUpdatesOfAnObject(policy: MergePolicy, expected: [String]) throws {
        let ours = try conflict(policy)
        try context.save()
        #expect(try stored() == expected)
        #expect("\(ours.balance) \(ours.owner ?? "-")" == expected[0])
        #expect(!context.hasChanges)
    }

    @Test(arguments: [
        (MergePolicy.mergeByPropertyStoreTrump, ["2 theirs"]), (.mergeByPropertyObjectTrump, []), (.overwrite, []),
        (.rollback, ["2 theirs"]),
    ]) func mergePoliciesDecideIfAnObjectUpdatedElsewhereIsDeleted(policy: MergePolicy, expected: [String]) throws {
        let ours = try conflict(policy, deletes: true)
        try context.save()
        #expect(try stored() == expected)
        #expect(!context.hasChanges)
        #expect((ours.managedObjectContext == nil) == expected.isEmpty)
    }

    @Test(arguments: [
        (MergePolicy.mergeByPropertyStoreTrump, []), (.mergeByPropertyObjectTrump, ["3 old"]),
        (.overwrite, ["3 old"]), (.rollback, []),
    ]) func mergePoliciesDecideIfAnObjectDeletedElsewhereIsRestored(policy: MergePolicy, expected: [String]) throws {
        let ours = try conflict(policy, isDeleted: true)
        try context.save()
        #expect(try stored() == expected)
        #expect(!context.hasChanges)
        #expect(expected.isEmpty ? ours.managedObjectContext == nil : ours.objectID.number == 2)
    }

    @Test func deletingAnObjectInBothContextsIsNoConflict() throws {
        _ = try conflict(.error, deletes: true, isDeleted: true)
        try context.save()
        #expect(try stored() == [])
    }
}
