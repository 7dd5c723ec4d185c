package import FetchIndex

/// What many processes do to one store at once: transfers between accounts, each counted and entered, in one transaction
/// over three entities. So the sum of all balances is 0 in every state, the counters' sum is the number of entries, and
/// entries are there once each.
package enum Ledger {
    package static let accounts = 24
    package static let counters = 6

    package static let model = Model(entities: [
        Entity(
            "Account",
            [
                AttributeDescription("name", .string, isOptional: false, isUnique: true),
                AttributeDescription("group", .string), AttributeDescription("balance", .integer),
            ], indexes: [Index(["balance"]), Index(["group", "balance:desc"])]),
        Entity(
            "Counter",
            [
                AttributeDescription("name", .string, isOptional: false, isUnique: true),
                AttributeDescription("count", .integer),
            ]),
        Entity(
            "Entry",
            [
                AttributeDescription("name", .string, isOptional: false, isUnique: true),
                AttributeDescription("amount", .integer),
            ]),
    ])

    /// The model of a newer program: other attributes, in another order, and a subentity. All of it is free.
    package static let newerModel = Model(
        entities: model.entities.map { entity in
            let note = AttributeDescription("note", .string, isOptional: false, defaultValue: .string("-"))
            return Entity(entity.name, [note] + entity.attributes.reversed(), indexes: entity.indexes)
        } + [Entity("Transfer", [], superentity: "Entry")])

    /// The order that watchers follow.
    package static let cache = "by balance"

    package static func accountRequest() -> FetchRequest<ManagedObject> {
        var request = FetchRequest<ManagedObject>(entityName: "Account")
        request.sortKeys = [SortKey("balance", .descending)]
        return request
    }

    /// Makes the accounts and counters of a new store.
    package static func prepare(_ container: PersistentContainer) throws {
        let context = container.newContext()
        for number in 0..<accounts {
            let account = try context.insert("Account")
            account["name"] = .string("account \(number)")
            account["group"] = .string("group \(number % 5)")
            account["balance"] = 0
        }
        for number in 0..<counters {
            let counter = try context.insert("Counter")
            counter["name"] = .string("counter \(number)")
            counter["count"] = 0
        }
        try context.save()
    }
}

/// A state of the ledger.
package struct LedgerState {
    package let commit: UInt64
    /// Of balances and counters.
    package let digest: UInt64
    package let counted: Int64
    package let entries: Int
    package let sum: Int64

    /// As a context sees it.
    package init(_ context: ManagedObjectContext) throws {
        let accounts = try context.fetch(Self.request("Account")).map { $0["balance"].integerOrZero }
        let counters = try context.fetch(Self.request("Counter")).map { $0["count"].integerOrZero }
        var digest: UInt64 = 0xCBF2_9CE4_8422_2325
        for number in accounts + counters { digest = (digest ^ UInt64(bitPattern: number)) &* 0x100_0000_01B3 }
        self.digest = digest
        sum = accounts.reduce(0, +)
        counted = counters.reduce(0, +)
        entries = try context.count(for: FetchRequest<ManagedObject>(entityName: "Entry"))
        commit = try context.commit
    }

    private static func request(_ entity: String) -> FetchRequest<ManagedObject> {
        var request = FetchRequest<ManagedObject>(entityName: entity)
        request.sortKeys = [SortKey("name")]
        return request
    }

    /// What is torn in it; nil when nothing is.
    package var defect: String? {
        if sum != 0 { return "commit \(commit) has balances that sum up to \(sum)" }
        if counted != Int64(entries) { return "commit \(commit) counts \(counted) entries and has \(entries)" }
        return nil
    }
}

extension Value {
    package var integerOrZero: Int64 { if case .integer(let number) = self { number } else { 0 } }
}
