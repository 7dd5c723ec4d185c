package import FetchIndex

/// A ledger that many processes use at the same time. After the accounts and counters were created, each transaction
/// moves an amount between two accounts, increments a counter and inserts an entry, which is linked to both accounts.
/// So in every later state the sum of all balances is 0, the counters' sum is the number of entries, each entry exists
/// once, an account's balance is the sum of its received entries less that of its own, and its partners are the
/// accounts to which its own entries go.
package enum Ledger {
    package static let accounts = 24
    package static let counters = 6

    package static let model = Model(entities: [
        Entity(
            "Account",
            [
                AttributeDescription("name", .string, isOptional: false, isUnique: true),
                AttributeDescription("group", .string), AttributeDescription("balance", .integer),
            ],
            relationships: [
                RelationshipDescription("entries", toMany: "Entry", inverse: "from"),
                RelationshipDescription("received", toMany: "Entry", inverse: "to"),
                RelationshipDescription("partners", toMany: "Account", inverse: "partnerOf"),
                RelationshipDescription("partnerOf", toMany: "Account", inverse: "partners"),
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
            ],
            relationships: [
                RelationshipDescription("from", toOne: "Account", inverse: "entries"),
                RelationshipDescription("to", toOne: "Account", inverse: "received"),
            ]),
    ])

    /// The model of a newer program: an added attribute, another order of attributes and relationships, and a
    /// subentity. None of these changes rewrites records.
    package static let newerModel = Model(
        entities: model.entities.map { entity in
            let note = AttributeDescription("note", .string, isOptional: false, defaultValue: .string("-"))
            return Entity(
                entity.name, [note] + entity.attributes.reversed(), relationships: entity.relationships.reversed(),
                indexes: entity.indexes)
        } + [Entity("Transfer", [], superentity: "Entry")])

    /// An order that watchers follow.
    package struct Order: Sendable {
        package let cache: String
        package let entity: String
        package let sortKeys: [SortKey<ManagedObject>]
        package let sectionKey: SectionKey

        package var request: FetchRequest<ManagedObject> {
            var request = FetchRequest<ManagedObject>(entityName: entity)
            request.sortKeys = sortKeys
            return request
        }
    }

    package static let orders = [
        Order(
            cache: "by balance", entity: "Account", sortKeys: [SortKey("balance", .descending)],
            sectionKey: .attribute("group")),
        // Each transfer may move all entries of an account to other positions.
        Order(
            cache: "by owner", entity: "Entry", sortKeys: [SortKey("from.balance"), SortKey("to.balance")],
            sectionKey: .relationship("from", name: "name")),
    ]

    /// Creates the accounts and counters in a new store.
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
    /// A digest of balances and counters.
    package let digest: UInt64
    package let counted: Int64
    package let entries: Int
    package let sum: Int64
    /// A defect of one account's links; nil if they are right. The number of the commit determines the account.
    private let wrongLinks: String?

    /// Reads the state in a context.
    package init(_ context: ManagedObjectContext) throws {
        let accounts = try context.fetch(Self.request("Account"))
        let balances = accounts.map { $0["balance"].integerOrZero }
        let counters = try context.fetch(Self.request("Counter")).map { $0["count"].integerOrZero }
        var digest: UInt64 = 0xCBF2_9CE4_8422_2325
        for number in balances + counters { digest = (digest ^ UInt64(bitPattern: number)) &* 0x100_0000_01B3 }
        self.digest = digest
        sum = balances.reduce(0, +)
        counted = counters.reduce(0, +)
        entries = try context.count(for: FetchRequest<ManagedObject>(entityName: "Entry"))
        commit = try context.commit
        let account = accounts[Int(commit % UInt64(accounts.count))]
        wrongLinks = try Self.wrongLinks(of: account)
    }

    private static func wrongLinks(of account: ManagedObject) throws -> String? {
        let (entries, received) = (account.relatedObjects("entries"), account.relatedObjects("received"))
        func amount(_ entries: some Sequence<ManagedObject>) -> Int64 {
            entries.reduce(0) { $0 + $1["amount"].integerOrZero }
        }
        if amount(received) - amount(entries) != account["balance"].integerOrZero {
            return "the balance of \(account["name"]) is not the sum of its received entries less that of its own"
        }
        let partners = Set(account.relatedObjects("partners").map(\.objectID))
        if partners != Set(entries.compactMap { $0.relatedObject("to")?.objectID }) {
            return "the partners of \(account["name"]) are not the accounts to which its entries go"
        }
        return nil
    }

    private static func request(_ entity: String) -> FetchRequest<ManagedObject> {
        var request = FetchRequest<ManagedObject>(entityName: entity)
        request.sortKeys = [SortKey("name")]
        return request
    }

    /// A defect of the state; nil if none is found.
    package var defect: String? {
        if sum != 0 { return "commit \(commit) has balances that sum up to \(sum)" }
        if counted != Int64(entries) { return "commit \(commit) counts \(counted) entries, but has \(entries)" }
        return wrongLinks.map { "commit \(commit): \($0)" }
    }
}

extension Value {
    package var integerOrZero: Int64 { if case .integer(let number) = self { number } else { 0 } }
}
