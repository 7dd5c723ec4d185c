import FetchIndex
import Foundation
import Observation
import Synchronization
import FetchIndexModels
import FetchIndexPredicates
import FetchIndexTestSupport
import Testing
import FetchIndexValues

/// Random changes of a model, with edits of objects between them. After each step, the objects must equal an oracle's.
@Suite struct ModelSeriesTests {
    let store = ModelStore()

    /// The expected attributes and objects. A change of the attributes immediately changes the objects of the oracle.
    private struct Oracle {
        var attributes: [AttributeDescription]
        var rows: [[String: Value]] = []
        var nextName = 0

        mutating func freshName() -> String {
            nextName += 1
            return "a\(nextName)"
        }
    }

    private static func randomValue(_ type: ValueType, _ generator: inout SeededGenerator) -> Value {
        switch type {
        case .integer: .integer(.random(in: -50...50, using: &generator))
        case .double: .double(Double(Int.random(in: -50...50, using: &generator)) / 2)
        case .string: .string("\(Int.random(in: -50...50, using: &generator))")
        default: .boolean(.random(using: &generator))
        }
    }

    private static func converted(_ value: Value, to type: ValueType) -> Value? {
        switch (value, type) {
        case (.null, _): .null
        case (.integer(let number), .double): .double(Double(number))
        case (.integer(let number), .string): .string("\(number)")
        case (.double(let number), .integer): Int64(exactly: number).map(Value.integer)
        case (.double, .string): .string(value.description)
        case (.string(let text), .integer): Int64(text).map(Value.integer)
        case (.string(let text), .double): Double(text).map(Value.double)
        default: nil
        }
    }

    @Test(arguments: 1...(TestSettings.isLong ? 200 : 12))
    func objectsAgreeWithAnOracleAfterRandomModelChanges(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        let key = AttributeDescription("key", .integer, isOptional: false, isUnique: true)
        var oracle = Oracle(attributes: [key])
        var container = try store.open(ModelStore.book(oracle.attributes))
        var live: ManagedObjectContext?
        for step in 0..<40 {
            let context: Comment = "seed \(seed), step \(step)"
            try change(&oracle, &container, &generator, context)
            try edit(&oracle, container, &generator)
            if step % 3 == 0 {
                container = try store.open(ModelStore.book(oracle.attributes.shuffled(using: &generator)))
            }
            try expectSame(oracle, container, &generator, context)
            // A context that was opened before a change of the model merges, or throws a store error.
            if let live { do { try live.mergeChanges() } catch is StoreError {} }
            if step % 5 == 0 {
                let opened = container.newContext()
                _ = try opened.fetch(FetchRequest<ManagedObject>(entityName: "Book"))
                live = opened
            }
        }
        #expect(try container.check { _, _ in } == [], "seed \(seed)")
    }

    /// Makes one random change of the model, or expects that it is refused.
    private func change(
        _ oracle: inout Oracle, _ container: inout PersistentContainer, _ generator: inout SeededGenerator,
        _ context: Comment
    ) throws {
        let types: [ValueType] = [.integer, .double, .string]
        let others = oracle.attributes.indices.dropFirst()
        let index = others.randomElement(using: &generator)
        switch (Int.random(in: 0..<8, using: &generator), index) {
        case (0, _), (1, _), (_, nil):
            let type = types.randomElement(using: &generator) ?? .integer
            let value = Bool.random(using: &generator) ? Self.randomValue(type, &generator) : .null
            let added = AttributeDescription(oracle.freshName(), type, isOptional: value.isNull, defaultValue: value)
            container = try store.open(ModelStore.book([added]))
            oracle.attributes.append(added)
            for row in oracle.rows.indices { oracle.rows[row][added.name] = value }
        case (2, let index?):
            let old = oracle.attributes[index]
            let new = AttributeDescription(
                oracle.freshName(), old.type, isOptional: old.isOptional, renamedFrom: old.name)
            container = try store.open(ModelStore.book([new]))
            oracle.attributes[index] = AttributeDescription(new.name, new.type, isOptional: new.isOptional)
            for row in oracle.rows.indices {
                oracle.rows[row][new.name] = oracle.rows[row].removeValue(forKey: old.name)
            }
        case (3, let index?):
            let removed = oracle.attributes.remove(at: index)
            container = try store.open(ModelStore.book([key(of: oracle)], removed: [removed.name]))
            for row in oracle.rows.indices { oracle.rows[row][removed.name] = nil }
        case (4, let index?):
            let old = oracle.attributes[index]
            let type = types.filter { $0 != old.type }.randomElement(using: &generator) ?? .string
            let new = AttributeDescription(old.name, type, isOptional: old.isOptional)
            let values = oracle.rows.map { Self.converted($0[old.name] ?? .null, to: type) }
            guard values.allSatisfy({ $0 != nil }) else {
                #expect(throws: StoreError.self, context) { try container.migrate(to: ModelStore.book([new])) }
                return
            }
            try container.migrate(to: ModelStore.book([new]))
            oracle.attributes[index] = new
            for (row, value) in zip(oracle.rows.indices, values) { oracle.rows[row][old.name] = value ?? .null }
        case (5, let index?), (6, let index?):
            let changed = Index(keys: [
                Index.Key(oracle.attributes[index].name, isDescending: .random(using: &generator)),
                Index.Key(key(of: oracle).name),
            ])
            let isThere = try container.model().entities[0].indexes.contains(changed)
            let entity = Entity(
                "Book", [key(of: oracle), oracle.attributes[index]], indexes: isThere ? [] : [changed],
                removedIndexes: isThere ? [changed] : [])
            try container.migrate(to: Model(entities: [entity]))
        case (_, let index?):
            let old = oracle.attributes[index]
            let new = AttributeDescription(old.name, old.type, isOptional: !old.isOptional)
            if old.isOptional && oracle.rows.contains(where: { $0[old.name] ?? .null == .null }) {
                #expect(throws: StoreError.self, context) { try container.migrate(to: ModelStore.book([new])) }
                return
            }
            try container.migrate(to: ModelStore.book([new]))
            oracle.attributes[index] = new
        }
    }

    private func key(of oracle: Oracle) -> AttributeDescription { oracle.attributes[0] }

    /// Inserts, updates and deletes some objects. New objects have random values in some of their attributes.
    private func edit(
        _ oracle: inout Oracle, _ container: PersistentContainer, _ generator: inout SeededGenerator
    ) throws {
        let context = container.newContext()
        var next =
            (oracle.rows.compactMap { if case .integer(let key)? = $0["key"] { key } else { nil } }.max() ?? 0) + 1
        for _ in 0..<Int.random(in: 0...4, using: &generator) {
            let object = try context.insert("Book")
            var row: [String: Value] = [:]
            for attribute in oracle.attributes {
                row[attribute.name] = object[attribute.name]
                let isSet = !attribute.isOptional || Bool.random(using: &generator)
                if isSet { row[attribute.name] = Self.randomValue(attribute.type, &generator) }
            }
            row["key"] = .integer(next)
            next += 1
            for (name, value) in row { object[name] = value }
            oracle.rows.append(row)
        }
        let objects = try context.fetch(FetchRequest<ManagedObject>(entityName: "Book"))
        for object in objects
        where object.objectID.isTemporary == false && Int.random(in: 0..<4, using: &generator) == 0 {
            guard let row = oracle.rows.firstIndex(where: { $0["key"] == object["key"] }) else { continue }
            if Int.random(in: 0..<6, using: &generator) == 0 {
                context.delete(object)
                oracle.rows.remove(at: row)
                continue
            }
            guard let attribute = oracle.attributes.dropFirst().randomElement(using: &generator) else { continue }
            let value = Self.randomValue(attribute.type, &generator)
            object[attribute.name] = value
            oracle.rows[row][attribute.name] = value
        }
        try context.save()
    }

    private func expectSame(
        _ oracle: Oracle, _ container: PersistentContainer, _ generator: inout SeededGenerator, _ comment: Comment
    ) throws {
        let context = container.newContext()
        var request = FetchRequest<ManagedObject>(entityName: "Book")
        request.sortKeys = [SortKey("key")]
        let found = try context.fetch(request).map { object in
            Dictionary(uniqueKeysWithValues: oracle.attributes.map { ($0.name, object[$0.name]) })
        }
        let expected = oracle.rows.sorted { left, right in
            guard case .integer(let left)? = left["key"], case .integer(let right)? = right["key"] else { return false }
            return left < right
        }
        #expect(found == expected, comment)
        let indexes = try container.cacheStatistics().filter { $0.name.hasPrefix("index:") }
        #expect(try indexes.count == container.model().entities[0].indexes.count, comment)
        #expect(indexes.allSatisfy { $0.isFresh && $0.rowCount == oracle.rows.count }, comment)
        // A cache that is sorted by a random attribute must have the rows of an order without a cache.
        guard let attribute = oracle.attributes.randomElement(using: &generator) else { return }
        request.sortKeys = [SortKey(attribute.name), SortKey("key")]
        let controller = try FetchedResultsController(
            fetchRequest: request, context: context, cacheName: "c\(Int.random(in: 0..<4, using: &generator))")
        try controller.performFetch()
        let keys = controller.fetchedObjects.map { $0.map { $0["key"] } } ?? []
        let memory = try FetchedResultsController(fetchRequest: request, context: context)
        try memory.performFetch()
        #expect(keys == memory.fetchedObjects.map { $0.map { $0["key"] } } ?? [], comment)
    }
}
