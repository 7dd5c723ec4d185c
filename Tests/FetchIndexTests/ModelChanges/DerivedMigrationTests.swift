import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// Derived attributes during changes of the model, and in programs with an older model.
@Suite struct DerivedMigrationTests {
    let store = ItemStore()

    @Test func aMigrationPassThatChangesAnAttributeUpdatesDerivedValuesAndTheirIndexes() throws {
        let count = AttributeDescription("count", .integer)
        let total = AttributeDescription("total", .integer, derivation: "price * count")
        let entity = Entity(
            "Item", [ItemStore.plain[0], ItemStore.plain[2], count, total], indexes: [Index(["total"])])
        let container = try store.models.open(Model(entities: [entity]))
        let writer = try BatchWriter(container, entity: "Item")
        for code in 0..<20 { try writer.insert([.integer(Int64(code)), .integer(Int64(code))]) }
        try writer.commit()
        #expect(try store.values(of: "total", in: container) == Array(repeating: .null, count: 20))
        let required = AttributeDescription("count", .integer, isOptional: false, defaultValue: .integer(1))
        try container.migrate(to: Model(entities: [Entity("Item", [required, ItemStore.plain[2], total])]))
        #expect(try store.values(of: "total", in: container) == (0..<20).map { .integer($0) })
        let context = container.newContext()
        #expect(try context.count(for: store.request("total == 5")) == 1)
        #expect(try container.cacheStatistics().map(\.isFresh) == [true])
        #expect(try container.check { _, _ in } == [])
    }

    @Test func aContextOpenedBeforeAMigrationWritesDerivedValues() throws {
        let container = try store.models.open(store.model())
        let context = container.newContext()
        let item = try context.insert("Item")
        item["code"] = .integer(1)
        item["price"] = .integer(300)
        let total = AttributeDescription("total", .integer, derivation: "price * count")
        let newer = Entity("Item", ItemStore.plain + [total], indexes: [Index(["total"])])
        try container.migrate(to: Model(entities: [newer]))
        try context.save()
        let other = container.newContext()
        #expect(try other.count(for: store.request("total == 300")) == 1)
        #expect(try container.check { _, _ in } == [])
        item["price"] = .integer(7)
        try context.save()
        try other.mergeChanges()
        #expect(try other.count(for: store.request("total == 7")) == 1)
    }

    @Test func aStoredDerivationStaysIfAProgramDeclaresThePlainAttribute() throws {
        let total = AttributeDescription("total", .integer, derivation: "price * count")
        let container = try store.models.open(store.model(total))
        let plain = try store.models.open(store.model(AttributeDescription("total", .integer)))
        #expect(try plain.model().entities[0].attributes.last?.derivation == "price * count")
        let context = plain.newContext()
        let item = try context.insert("Item")
        item["price"] = .integer(4)
        item["total"] = .integer(1000)
        try context.save()
        #expect(try store.values(of: "total", in: container) == [.integer(4)])
    }

    @Test func aDerivedAttributeBecomesRequiredOnlyIfAllObjectsHaveAValue() throws {
        let optional = AttributeDescription("total", .integer, derivation: "price * count")
        let required = AttributeDescription("total", .integer, isOptional: false, derivation: "price * count")
        let container = try store.models.open(store.model(optional))
        let context = container.newContext()
        let item = try context.insert("Item")
        try context.save()
        #expect { try container.migrate(to: store.model(required)) } throws: { error in
            if case .cannotMigrate(_, "total", _, let objects)? = error as? StoreError {
                objects == [item.objectID]
            } else {
                false
            }
        }
        item["price"] = .integer(1)
        try context.save()
        try container.migrate(to: store.model(required))
        #expect(try store.values(of: "total", in: container) == [.integer(1)])
    }

    /// A derivation contains the former name of a renamed attribute, so no other attribute can get this name.
    @Test func noOtherAttributeGetsANameThatADerivationUses() throws {
        let value = AttributeDescription("value", .integer)
        let total = AttributeDescription("total", .integer, derivation: "price * count")
        let container = try store.models.open(store.model(value, total))
        let context = container.newContext()
        let item = try context.insert("Item")
        item["price"] = .integer(5)
        item["value"] = .integer(9)
        try context.save()
        func entity(_ attribute: AttributeDescription) -> Model { Model(entities: [Entity("Item", [attribute])]) }
        try container.migrate(to: entity(AttributeDescription("cost", .integer, renamedFrom: "price")))
        #expect(throws: StoreError.self) {
            try container.migrate(to: entity(AttributeDescription("price", .integer, renamedFrom: "value")))
        }
        #expect(throws: StoreError.self) { try container.migrate(to: entity(AttributeDescription("price", .integer))) }
        #expect(try store.values(of: "total", in: container) == [.integer(5)])
        // "pri" is only the beginning of a name that the derivation uses.
        try container.migrate(to: entity(AttributeDescription("pri", .integer)))
        #expect(try container.check { _, _ in } == [])
    }
}
