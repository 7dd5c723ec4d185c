import FetchIndexPlatform
import Foundation
import FetchIndexLMDB
import FetchIndexOrderCaches
import FetchIndexTestSupport
import Testing

@testable import FetchIndex
@testable import FetchIndexRecords

/// Calls public functions that throw, with a sound request and with impossible requests, under each of several faults.
/// Each error must be of a public type.
@Suite struct ErrorBoundaryTests {
    enum Fault: String, CaseIterable {
        case damagedState, damagedModel, damagedRecords, damagedUniqueKeys, damagedLog, damagedHeaders, damagedNodes
        case moved, readOnly, openWriter, noReaderLeft, fullMap, droppedEntity
    }

    enum Request: String, CaseIterable {
        case sound, unknownEntity, unknownAttribute, wrongType, unknownLocale, unknownTimeZone, longName
    }

    /// Keeps snapshots and a writer open while the functions are called.
    private final class Held {
        var snapshots: [Snapshot] = []
        var writer: StoreWriter?
    }

    private static let entity = Entity(
        "Book",
        [
            AttributeDescription("isbn", .string, isUnique: true), AttributeDescription("title", .string),
            AttributeDescription("price", .integer), AttributeDescription("sold", .date),
        ])
    private static let other = Entity("Other", [AttributeDescription("name", .string)])

    private let folder = TemporaryFolder()

    private func open(isReadOnly: Bool = false, mapSize: Int? = nil) throws -> PersistentContainer {
        var options = Store.Options()
        options.durability = .none
        options.isReadOnly = isReadOnly
        if let mapSize { options.mapSize = mapSize }
        return try PersistentContainer(
            path: folder.path + "/store", model: isReadOnly ? nil : Model(entities: [Self.entity, Self.other]),
            options: options)
    }

    private func filled(_ fault: Fault) throws -> PersistentContainer {
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let container = try open(mapSize: fault == .fullMap ? 1 << 18 : nil)
        let writer = try BatchWriter(container, entity: "Book", key: "isbn")
        for number in 0..<30 {
            try writer.insert([.string("\(number)"), .string("title \(number % 7)"), .integer(Int64(number)), .null])
        }
        try writer.commit()
        for name in ["first", "second"] { try container.withOrder(definition(.sound), .init(cacheName: name)) { _ in } }
        try writer.update(container.newContext().objectID(of: "Book", number: 4), ["3", "changed", 3, nil])
        try writer.commit()
        return container
    }

    private func definition(_ request: Request) -> OrderDefinition {
        switch request {
        case .sound, .longName:
            OrderDefinition(entity: "Book", sortKeys: [SortKey("price")], sectionKey: .attribute("title"))
        case .unknownEntity: OrderDefinition(entity: "Nothing")
        case .unknownAttribute: OrderDefinition(entity: "Book", sortKeys: [SortKey("weight")])
        case .wrongType: OrderDefinition(entity: "Book", sortKeys: [SortKey("price", .ascending, .localized("ja"))])
        case .unknownLocale:
            OrderDefinition(entity: "Book", sortKeys: [SortKey("title", .ascending, .localized("xx-nowhere"))])
        case .unknownTimeZone: OrderDefinition(entity: "Book", sectionKey: .date("sold", .day, timeZone: "Mars"))
        }
    }

    /// Causes a fault, and returns the container on which the functions are called.
    private func bring(_ fault: Fault, _ container: PersistentContainer, _ held: Held) throws -> PersistentContainer {
        func damage(_ table: (StoreTables) -> Table) throws {
            let writer = try container.store.beginWrite()
            var keys: [[UInt8]] = []
            try writer.view.forEachEntry(in: table(writer.tables)) { cursor in
                let key = [UInt8](copying: cursor.key)
                keys.append(key)
            }
            for key in keys {
                let garbage = Array("not a value of a store".utf8)
                let table = table(writer.tables)
                try writer.view.put(garbage.span.bytes, for: key.span.bytes, in: table)
            }
            try writer.commit()
        }
        switch fault {
        case .damagedState, .damagedModel:
            let transaction = try container.store.environment.beginWrite()
            let key = fault == .damagedState ? StoreLayout.stateKey : StoreLayout.modelKey
            let garbage = Array("not a value of a store".utf8)
            try transaction.view.put(garbage.span.bytes, for: key.span.bytes, in: container.store.tables.meta)
            try transaction.commit()
        case .damagedRecords: try damage { $0.records }
        case .damagedUniqueKeys: try damage { $0.unique }
        case .damagedLog: try damage { $0.log }
        case .damagedHeaders: try damage { $0.caches }
        case .damagedNodes: try damage { $0.nodes }
        case .moved:
            try FileManager.default.moveItem(atPath: folder.path + "/store", toPath: folder.path + "/moved")
        case .readOnly: return try open(isReadOnly: true)
        case .openWriter: held.writer = try container.store.beginWrite()
        case .noReaderLeft:
            while let snapshot = try? container.store.snapshot() { held.snapshots.append(snapshot) }
        case .fullMap:
            held.snapshots = [try container.store.snapshot()]
            while let writer = try? container.store.beginWrite() {
                writer.setLogLimit(writer.state.logLimit)
                do { try writer.commit() } catch { break }
            }
        case .droppedEntity: try container.dropEntity(named: "Book")
        }
        return container
    }

    @Test(arguments: Fault.allCases) func thrownErrorsHavePublicTypes(fault: Fault) throws {
        let held = Held()
        // The context, its object and the controller exist before the fault.
        let opened = try filled(fault)
        let context = opened.newContext()
        var request = FetchRequest<ManagedObject>(entityName: "Book")
        request.sortKeys = [SortKey("price")]
        let live = try FetchedResultsController(fetchRequest: request, context: context, cacheName: "live")
        if fault != .fullMap { try live.performFetch() }
        let known = try? context.fetch(request).first
        let container = try bring(fault, opened, held)
        var errors = 0
        for kind in Request.allCases {
            call(container, context, live, known, kind) { name, error in
                errors += 1
                if !Self.isPublic(error) { Issue.record("\(fault), \(kind), \(name): \(type(of: error)): \(error)") }
            }
        }
        #expect(errors > 6, "faults and impossible requests are errors")
        if let damage = context.damage, !Self.isPublic(damage) { Issue.record("damage: \(type(of: damage))") }
        if let failure = live.failure, !Self.isPublic(failure) { Issue.record("failure: \(type(of: failure))") }
        withExtendedLifetime(held) {}
    }

    private static func isPublic(_ error: any Error) -> Bool {
        switch error {
        case is StoreError, is StoreCopyError, is CacheError, is ContextError, is RequestError, is FetchPredicateError,
            is ValidationError, is MergeConflicts, is AttributeError, is UnknownLocale, is UnknownTimeZone,
            is UnusableCalendar:
            true
        default: false
        }
    }

    private func call(
        _ container: PersistentContainer, _ old: ManagedObjectContext, _ live: FetchedResultsController<ManagedObject>,
        _ known: ManagedObject?, _ kind: Request, _ report: (String, any Error) -> Void
    ) {
        func attempt(_ name: String, _ body: () throws -> Void) { do { try body() } catch { report(name, error) } }
        let definition = definition(kind)
        let cacheName = kind == .longName ? String(repeating: "n", count: 600) : "first"
        var request = FetchRequest<ManagedObject>(entityName: definition.entity)
        request.sortKeys = definition.sortKeys
        let fresh = container.newContext()

        attempt("init") { _ = try PersistentContainer(at: URL(fileURLWithPath: folder.path + "/store")) }
        attempt("model") { _ = try container.model() }
        attempt("plan") { _ = try container.plan(definition) }
        for name in [cacheName, nil] {
            attempt("withOrder") {
                try container.withOrder(definition, .init(cacheName: name)) { order in
                    try order.forEachSection { _ in true }
                    try order.forEachRow { row in _ = try row.value(of: "title") }
                    if order.rowCount > 0 { try order.withRow(at: 0) { row in _ = try row.value(at: 0) } }
                    if order.sectionCount > 0 { _ = try order.section(at: 0) }
                }
            }
        }
        attempt("cacheStatistics") { _ = try container.cacheStatistics() }
        attempt("deleteCache") { try container.deleteCache(named: kind == .longName ? cacheName : "second") }
        attempt("dropEntity") { try container.dropEntity(named: "Nothing") }
        attempt("backup") { try container.backup(to: URL(fileURLWithPath: folder.path + "/backup \(kind)")) }
        for context in [fresh, old] {
            context.writeTimeout = .milliseconds(1)
            attempt("commit") { _ = try context.commit }
            attempt("fetch") { _ = try context.fetch(request) }
            attempt("count") { _ = try context.count(for: request) }
            attempt("execute") { _ = try context.execute(request) }
            attempt("objectID") { _ = try context.objectID(of: definition.entity, number: 7) }
            attempt("existingObject") {
                _ = try context.existingObject(with: context.objectID(of: "Book", number: kind == .sound ? 7 : 700))
            }
            attempt("mergeChanges") { try context.mergeChanges() }
            attempt("fetchHistory") { _ = try context.fetchHistory(after: 0) }
            attempt("insert and save") {
                let object = try context.insert(definition.entity)
                object["title"] = "new"
                try context.save()
            }
            attempt("rollback") { try context.rollback() }
            attempt("insertRows") {
                try context.execute(BatchInsertRequest(entityName: definition.entity, rows: [["1", "twice", 1, nil]]))
            }
            attempt("update") {
                try context.execute(
                    BatchUpdateRequest(entityName: definition.entity, propertiesToUpdate: ["price": .integer(4)]))
            }
            attempt("delete") {
                try context.execute(
                    BatchDeleteRequest(entityName: definition.entity, predicate: try FetchPredicate("price == 29")))
            }
            attempt("performFetch") {
                let controller = try FetchedResultsController(
                    fetchRequest: request, context: context, sectionKey: definition.sectionKey, cacheName: cacheName)
                try controller.performFetch()
                _ = controller.snapshot
            }
            attempt("deleteHistory") { try context.deleteHistory(before: 1) }
        }
        attempt("live") {
            try live.performFetch()
            _ = live.snapshot
        }
        if let known { attempt("value") { _ = try known.value(of: "weight", as: String.self) } }
        attempt("writer") {
            let writer = try BatchWriter(container, entity: definition.entity, key: "isbn")
            writer.writeTimeout = .milliseconds(1)
            guard let object = try writer.object(key: "5") else { return }
            _ = try writer.values(of: object)
            try writer.update(object, ["5", "changed", 6, nil])
            _ = try writer.commit(bringing: definition, cacheName: "first")
        }
        attempt("insert by writer") {
            let writer = try BatchWriter(container, entity: definition.entity)
            writer.writeTimeout = .milliseconds(1)
            if let object = try writer.object(number: 9) { try writer.delete(object) }
            try writer.insert(["5", "twice", 6, nil])
            try writer.commit()
        }
        attempt("rows") {
            _ = try BatchInsertRequest(entityName: definition.entity, objects: [["weight": 1]], in: container.model())
        }
        attempt("temporary") {
            _ = try PersistentContainer(temporaryWith: Model(entities: [Entity("Empty", [])]))
        }
        attempt("deleteCache of a controller") {
            try FetchedResultsController<ManagedObject>.deleteCache(named: cacheName, in: container)
        }
        if let known {
            attempt("evaluate") { _ = try FetchPredicate("weight == 1").evaluate(with: known) }
        }
        attempt("variables") { _ = try FetchPredicate("price == $p").evaluate(with: ["price": 1]) }
        attempt("pattern") { _ = try FetchPredicate("title MATCHES '('").evaluate(with: ["title": "t"]) }
        attempt("sort keys") { _ = try SortKey<ManagedObject>.list(parsing: "a:b:c:d,e") }
        attempt("predicate") { _ = try FetchPredicate("price >") }
        attempt("sort key") { _ = try SortKey<ManagedObject>(parsing: "a:b:c:d") }
        attempt("section key") { _ = try SectionKey(parsing: "month(") }
        attempt("section order") { _ = try SectionOrder(parsing: "sideways") }
        let model = Model(entities: [
            Entity("Book", Self.entity.attributes + [AttributeDescription("code", .string, isOptional: false)])
        ])
        attempt("plan for a model") { _ = try container.plan(for: model) }
        attempt("migrate") { try container.migrate(to: model) }
        attempt("migrate by a closure that fails") {
            try container.migrate(to: model) { _, _ in throw StoreError.readOnly }
        }
        attempt("open with a model") {
            _ = try PersistentContainer(
                at: URL(fileURLWithPath: folder.path + "/store"), model: model, migration: .automatic)
        }
        attempt("reset") { try old.reset() }
    }
}
