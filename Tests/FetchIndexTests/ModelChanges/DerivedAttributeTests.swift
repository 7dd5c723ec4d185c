import FetchIndex
import Foundation
import Observation
import Synchronization
import FetchIndexTestSupport
import Testing

/// Writers compute the values of derived attributes from other attributes.
@Suite struct DerivedAttributeTests {
    final class Item: ManagedObject {
        @Attribute("code", isUnique: true) var code: Int?
        @Attribute("name") var name: String?
        @Attribute("price") var price: Int?
        @Attribute("count") var count = 1
        @Attribute("total", indexed: true, derivedBy: "price * count") var total: Int?
        @Attribute("sortName", derivedBy: "canonical:(name)") var sortName: String?
    }

    let store = ItemStore()

    /// Expects that each stored derived value equals the value that this function computes itself.
    private func expectDerived(_ container: PersistentContainer, _ comment: Comment? = nil) throws {
        let context = container.newContext()
        for item in try context.fetch(store.request()) {
            var total = Value.null
            if case .integer(let price) = item["price"], case .integer(let count) = item["count"] {
                total = .integer(price * count)
            }
            #expect(item["total"] == total, comment)
            var name = Value.null
            if case .string(let text) = item["name"] {
                name = .string(text.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil))
            }
            #expect(item["sortName"] == name, comment)
        }
        withExtendedLifetime(context) {}
        #expect(try container.check { _, _ in } == [], comment)
    }

    @Test func anUnsavedObjectHasItsDerivedValues() throws {
        let container = try PersistentContainer(temporaryWith: Model(Item.self))
        let context = container.newContext()
        let item = Item(context: context)
        #expect(item.total == nil)
        item.price = 7
        #expect(item.total == 7)
        item.count = 6
        item.name = "Élan"
        #expect(item.total == 42)
        #expect(item.sortName == "elan")
        item.total = 3
        #expect(item.total == 42)
        try context.save()
        #expect(item.total == 42)
        item.price = 1
        #expect(item.total == 6)
        #expect(item["total"] == .integer(6))
        try context.rollback()
        #expect(item.total == 42)
        try expectDerived(container)
    }

    @Test func batchWritersBatchRequestsAndSavesComputeDerivedValues() throws {
        let container = try store.models.open(Model(Item.self))
        let writer = try BatchWriter(container, entity: "Item", key: "code")
        for code in 0..<20 {
            try writer.insert([.integer(Int64(code)), .string("Name \(code)"), .integer(Int64(code)), .integer(2)])
        }
        let object = try #require(try writer.object(key: .integer(3)))
        try writer.update(object, [.integer(3), .string("ÜBER"), .null, .integer(5), .integer(99), .string("wrong")])
        try writer.commit()
        try expectDerived(container, "batch writer")
        let context = container.newContext()
        var rows = (100..<110).map { [Value.integer($0), .string("Row"), .integer($0), .integer(3)] }
        try context.insertRows(into: "Item", onUniqueConflict: .update) { rows.popLast() }
        try expectDerived(container, "batch insert")
        let update = BatchUpdateRequest(
            entityName: "Item", predicate: try FetchPredicate("total > 300"),
            propertiesToUpdate: ["price": .integer(-4)])
        #expect(try context.execute(update) > 0)
        try expectDerived(container, "batch update")
        for item in try context.fetch(store.request("total < 10")) { item["count"] = .integer(100) }
        try context.save()
        try expectDerived(container, "save")
        // The model of this container doesn't declare the derived attributes.
        let olderContainer = try store.models.open(store.model())
        let older = olderContainer.newContext()
        let item = try older.insert("Item")
        item["name"] = .string("Ölder")
        item["price"] = .integer(9)
        try older.save()
        try expectDerived(container, "an older program")
        #expect(try context.count(for: store.request("total == 9")) == 0)
        try context.mergeChanges()
        #expect(try context.count(for: store.request("total == 9 AND sortName == 'older'")) == 1)
    }

    @Test func controllersSortAndGroupByDerivedValues() throws {
        let container = try PersistentContainer(temporaryWith: Model(Item.self))
        let context = container.newContext()
        var request = FetchRequest<Item>()
        request.sortKeys = [SortKey(\.total, .descending), SortKey(\.code)]
        let controller = try FetchedResultsController(
            fetchRequest: request, context: context, sectionKey: .attribute("sortName"), cacheName: "by total")
        try controller.performFetch()
        for code in 0..<6 {
            let item = Item(context: context)
            item.code = code
            item.name = ["é", "E", "a"][code % 3]
            item.price = code
        }
        context.processPendingChanges()
        #expect(controller.sections.map(\.name) == ["a", "e"])
        #expect(controller.fetchedObjects.map { $0.map(\.code) } == [5, 2, 4, 3, 1, 0])
        try context.save()
        let first = try #require(try context.fetch(request).last)
        first.count = 0
        first.price = 1
        first.count = 50
        context.processPendingChanges()
        #expect(controller.fetchedObjects?.map(\.total) == [50, 4, 3, 1, 5, 2])
        try context.save()
        try controller.performFetch()
        #expect(controller.fetchedObjects?.map(\.total) == [50, 4, 3, 1, 5, 2])
        #expect(try container.check { _, _ in } == [])
    }

    @Test func aMigrationAddsAndChangesADerivation() throws {
        let writer = try BatchWriter(store.models.open(store.model()), entity: "Item")
        for code in 0..<10 { try writer.insert([.integer(Int64(code)), .string("N\(code)"), .integer(Int64(code))]) }
        try writer.commit()
        let total = AttributeDescription("total", .integer, derivation: "price * count")
        #expect(throws: StoreError.self) { try store.models.open(store.model(total)) }
        #expect(try store.models.open(nil).plan(for: store.model(total)).verdict == .pass)
        var container = try store.models.open(store.model(total), .automatic)
        func totals() throws -> [Value] { try store.values(of: "total", in: container) }
        #expect(try totals() == (0..<10).map { .integer($0) })
        let byTotal = OrderDefinition(entity: "Item", sortKeys: [SortKey("total")])
        try container.withOrder(byTotal, .init(cacheName: "by total")) { _ in }
        container = try store.models.open(
            store.model(AttributeDescription("total", .integer, derivation: "0 - price")), .automatic)
        #expect(try totals() == (0..<10).map { .integer(-$0) })
        try container.withOrder(byTotal, .init(cacheName: "by total")) { order in
            #expect(order.outcome == .rebuilt(.modelChanged))
            var codes: [Value] = []
            try order.forEachRow { row in codes.append(try row.value(of: "code")) }
            #expect(codes == (0..<10).reversed().map { .integer($0) })
        }
        // A program that declares the first expression opens the store, and uses the newest expression.
        #expect(
            try store.models.open(store.model(total)).model().entities[0].attributes.last?.derivation == "0 - price")
        // The attribute that the expression reads may be renamed, but not removed.
        let renamed = Entity("Item", [AttributeDescription("cost", .integer, renamedFrom: "price")])
        container = try store.models.open(Model(entities: [renamed]))
        let context = container.newContext()
        let item = try #require(try context.fetch(store.request("code == 4")).first)
        item["cost"] = .integer(70)
        try context.save()
        #expect(try totals()[4] == .integer(-70))
        #expect(throws: StoreError.self) {
            try container.migrate(
                to: Model(entities: [
                    Entity("Item", [AttributeDescription("code", .integer, isUnique: true)], removed: ["cost"])
                ]))
        }
        // After its derivation is removed, `total` is an ordinary attribute.
        let set = Entity("Item", [AttributeDescription("total", .integer)])
        try container.migrate(to: Model(entities: [set]))
        let free = container.newContext()
        try #require(try free.fetch(store.request("code == 4")).first)["total"] = .integer(12)
        try free.save()
        #expect(try totals()[4] == .integer(12))
        #expect(try container.check { _, _ in } == [])
    }

    @Test(arguments: [
        ("price *", ValueType.integer), ("price + missing", .integer), ("canonical:(name)", .integer),
        ("price * 2", .string), ("now()", .date), ("self", .integer), ("double", .integer), ("{1, 2}", .integer),
    ])
    func anInvalidDerivationIsRefused(derivation: String, type: ValueType) throws {
        let double = AttributeDescription("double", .integer, derivation: "price * 2")
        let wrong = AttributeDescription("wrong", type, derivation: derivation)
        #expect(throws: StoreError.self) { try store.models.open(store.model(double, wrong)) }
        #expect(throws: StoreError.self) {
            try store.models.open(
                store.model(AttributeDescription("x", .integer, defaultValue: .integer(1), derivation: "price")))
        }
    }

    @Test func aSaveFailsIfARequiredValueCannotBeDerived() throws {
        let half = AttributeDescription("half", .integer, isOptional: false, derivation: "price / 2.0")
        let container = try store.models.open(store.model(half))
        let context = container.newContext()
        let item = try context.insert("Item")
        item["price"] = .integer(3)
        #expect(throws: (any Error).self) { try context.save() }
        item["price"] = .null
        #expect(throws: (any Error).self) { try context.save() }
        item["price"] = .integer(8)
        try context.save()
        #expect(try store.values(of: "half", in: container) == [.integer(4)])
        // The error of a migration names the objects whose value can't be derived.
        let quarter = AttributeDescription("quarter", .integer, isOptional: false, derivation: "price / 16.0")
        #expect { try container.migrate(to: store.model(half, quarter)) } throws: { error in
            if case .cannotMigrate(_, "quarter", _, let objects)? = error as? StoreError {
                objects.count == 1
            } else {
                false
            }
        }
    }

    @Test(arguments: [
        (ValueType.decimal, "price * rate", Value.decimal(0)), (.double, "cents / 3", .double(0.1)),
        (.double, "price", .double(3)), (.decimal, "rate + 0.5", .decimal(Decimal(string: "0.5") ?? 0)),
    ])
    func aDerivedNumberIsConvertedToTheTypeOfItsAttribute(type: ValueType, derivation: String, expected: Value) throws {
        let container = try store.models.open(
            store.model(
                AttributeDescription("rate", .double), AttributeDescription("cents", .decimal),
                AttributeDescription("result", type, derivation: derivation)))
        let context = container.newContext()
        let item = try context.insert("Item")
        item["price"] = .integer(3)
        item["rate"] = .double(0)
        item["cents"] = .decimal(Decimal(string: "0.3") ?? 0)
        try context.save()
        #expect(item["result"] == expected)
    }

    @Test func observersAreNotifiedOfDerivedValues() throws {
        let container = try PersistentContainer(temporaryWith: Model(Item.self))
        let context = container.newContext()
        let item = Item(context: context)
        let changes = Mutex(0)
        withObservationTracking {
            _ = item.total
        } onChange: {
            changes.withLock { $0 += 1 }
        }
        item.price = 3
        #expect(changes.withLock { $0 } == 1)
        withExtendedLifetime(context) {}
    }
}
