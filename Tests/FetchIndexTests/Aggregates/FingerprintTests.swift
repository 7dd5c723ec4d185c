import FetchIndex
import FetchIndexTestSupport
import Foundation
import Testing

/// Fingerprints of orders.
@Suite struct FingerprintTests {
    private static let model = Model(entities: [
        Entity(
            "Item",
            [
                AttributeDescription("code", .integer, isUnique: true), AttributeDescription("group", .string),
                AttributeDescription("price", .decimal),
            ])
    ])

    private static func values(
        _ container: PersistentContainer, _ definition: OrderDefinition, cache: String? = nil
    ) throws -> (all: Value, sections: [String: Value]) {
        try container.withOrder(definition, .init(cacheName: cache)) { order in
            var sections: [String: Value] = [:]
            try order.forEachSection { section in
                sections[section.name] = try section.aggregate(.fingerprint)
                return true
            }
            return (try order.aggregate(.fingerprint, inRows: 0..<order.rowCount), sections)
        }
    }

    private static func definition(section: Bool = false, _ sort: String = "code") -> OrderDefinition {
        OrderDefinition(
            entity: "Item", sortKeys: [SortKey(sort)], sectionKey: section ? .attribute("group") : nil,
            aggregates: [.fingerprint])
    }

    /// The expected numbers were computed by another program, in Python, from the description in the documentation.
    @Test func aFingerprintIsTheSumOfTheDocumentedDigests() throws {
        let store = try LiveStore(
            Model(entities: [
                Entity(
                    "Item",
                    [
                        AttributeDescription("code", .integer), AttributeDescription("name", .string),
                        AttributeDescription("flag", .boolean), AttributeDescription("ratio", .double),
                        AttributeDescription("exact", .decimal), AttributeDescription("when", .date),
                        AttributeDescription("uid", .uuid), AttributeDescription("link", .url),
                        AttributeDescription("bytes", .data), AttributeDescription("note", .string),
                    ])
            ]))
        let writer = try BatchWriter(store.container, entity: "Item")
        let uid = try #require(UUID(uuidString: "00112233-4455-6677-8899-AABBCCDDEEFF"))
        try writer.insert([
            .integer(1), .string("Žluťoučký"), .boolean(true), .double(0.1),
            .decimal(try #require(Decimal(string: "1.50"))), .date(Date(timeIntervalSinceReferenceDate: 86_400.5)),
            .uuid(uid), .url(try #require(URL(string: "https://example.org/a"))), .data(Data([0, 255])), .null,
        ])
        try writer.insert([
            .integer(-7), .string(""), .boolean(false), .double(-0.0), .decimal(-1200),
            .date(Date(timeIntervalSinceReferenceDate: -Double.nan)), .null, .null, .null, .null,
        ])
        try writer.commit()
        let definition = OrderDefinition(
            entity: "Item", sortKeys: [SortKey("code", .descending)], aggregates: [.fingerprint])
        let found = try store.container.withOrder(definition, .init()) { order in
            try [0..<1, 1..<2, 0..<2, 1..<1].map { try order.aggregate(.fingerprint, inRows: $0).description }
        }
        #expect(
            found == [
                "682801790e51119c34a63323111212dd", "1db305223971595ef1ec12b61182e1ac",
                "85db069b47c26afb269245d92294f489", String(repeating: "0", count: 32),
            ])
    }

    /// A cache that has followed random changes has the fingerprints of a store to which its rows were written at once.
    @Test(arguments: 0..<6 as Range<UInt64>) func theHistoryOfRowsDoesNotMatter(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed &+ TestSettings.seed &* 100)
        let store = try LiveStore(Self.model)
        let definition = Self.definition(section: true, "price")
        var rows: [Int64: [Value]] = [:]
        func row(_ code: Int64) -> [Value] {
            let price = Decimal(Int.random(in: -3...3, using: &random)) / 4
            return [
                .integer(code), Int.random(in: 0..<5, using: &random) == 0 ? .null : .string("g\(code % 3)"),
                .decimal(price),
            ]
        }
        for step in 0..<12 {
            let writer = try BatchWriter(store.container, entity: "Item", key: "code")
            for _ in 0..<Int.random(in: 1...40, using: &random) {
                let code = Int64.random(in: 0..<60, using: &random)
                let object = try writer.object(key: .integer(code))
                if let object, Bool.random(using: &random) {
                    try writer.delete(object)
                    rows[code] = nil
                } else {
                    let values = row(code)
                    if let object { try writer.update(object, values) } else { try writer.insert(values) }
                    rows[code] = values
                }
            }
            try writer.commit()
            let found = try Self.values(store.container, definition, cache: "c")
            let other = try LiveStore(Self.model)
            let copy = try BatchWriter(other.container, entity: "Item")
            for values in rows.values.shuffled(using: &random) { try copy.insert(values) }
            try copy.commit()
            let expected = try Self.values(other.container, definition)
            #expect(found.all == expected.all, "seed \(seed), step \(step)")
            #expect(found.sections == expected.sections, "seed \(seed), step \(step)")
            #expect(try store.container.verifyCache("c") == [], "seed \(seed), step \(step)")
        }
    }

    /// A digest has the values of all attributes in the order of their names. So the cache is rebuilt if there is another
    /// attribute or another order, and is known to be unusable before.
    @Test func aCacheIsRebuiltIfTheDigestsChange() throws {
        let store = try LiveStore(Self.model)
        let writer = try BatchWriter(store.container, entity: "Item")
        for code in 0..<20 { try writer.insert([.integer(Int64(code)), .string("g"), .decimal(Decimal(code))]) }
        try writer.commit()
        func outcome() throws -> FetchOutcome {
            try store.container.withOrder(Self.definition(), .init(cacheName: "c")) { $0.outcome }
        }
        func state() throws -> NamedCache.State? { try store.container.namedCaches().first?.state }
        #expect(try outcome() == .rebuilt(.first))
        #expect(try outcome() == .hit)
        var attributes = [
            AttributeDescription("code", .integer, isUnique: true), AttributeDescription("group", .string),
            AttributeDescription("price", .decimal),
        ]
        func migrate(_ change: (inout [AttributeDescription]) -> Void) throws {
            change(&attributes)
            try store.container.migrate(to: Model(entities: [Entity("Item", attributes)]))
        }
        try migrate { $0[2] = AttributeDescription("worth", .decimal, renamedFrom: "price") }
        #expect(try outcome() == .hit)
        try migrate { $0[2] = AttributeDescription("cost", .decimal, renamedFrom: "worth") }
        #expect(try state() == .unusable(.modelChanged))
        #expect(try outcome() == .rebuilt(.modelChanged))
        try migrate { $0.append(AttributeDescription("note", .string, defaultValue: .string("x"))) }
        #expect(try state() == .unusable(.modelChanged))
        #expect(try outcome() == .rebuilt(.modelChanged))
        #expect(try outcome() == .hit)
    }

    /// A controller's fingerprints include unsaved edits.
    @Test func controllersKeepFingerprints() throws {
        let store = try LiveStore(Model(Book.self))
        let context = store.container.newContext()
        var request = FetchRequest<Book>(sortKeys: [SortKey(\.title)])
        request.aggregates = [.fingerprint, .sum(\.price)]
        let controller = try FetchedResultsController(
            fetchRequest: request, context: context, sectionKey: .attribute("publisher"), cacheName: "c")
        try controller.performFetch()
        let book = Book(context: context)
        (book.title, book.publisher, book.price) = ("A", "P", 3)
        try context.save()
        let first = controller.aggregate(.fingerprint, in: 0..<1)
        #expect(controller.sections[0].aggregate(.fingerprint) == first)
        book.price = 4
        context.processPendingChanges()
        #expect(controller.aggregate(.fingerprint, in: 0..<1) != first)
        #expect(controller.sections[0].aggregate(.fingerprint) == controller.aggregate(.fingerprint, in: 0..<1))
        #expect(controller.sections[0].aggregate(.sum(\.price)) == .integer(4))
        book.price = 3
        context.processPendingChanges()
        #expect(controller.aggregate(.fingerprint, in: 0..<1) == first)
    }

    @Test func aFingerprintHasATextOfItsOwn() throws {
        let list = try Aggregate<ManagedObject>.list(parsing: "sum(price),fingerprint")
        #expect(list == [.sum("price"), .fingerprint])
        #expect(list.map(\.description) == ["sum(price)", "fingerprint"])
        #expect(throws: RequestError.self) { try Aggregate<ManagedObject>(parsing: "fingerprint(price)") }
    }
}
