import FetchIndex
import Foundation
import FetchIndexModels
import FetchIndexTestSupport
import Testing

/// Indexes, caches and controllers of a base entity while subentities are added and dropped.
@Suite struct HierarchyCacheTests {
    private let store = Works()

    @Test func anIndexOfABaseEntityStaysWhenASubentityIsDropped() throws {
        let index = [Index(["title"])]
        let model = Model(entities: [
            Entity("Base", [.title], indexes: index), Entity("One", [], superentity: "Base"),
            Entity("Two", [], superentity: "Base"),
        ])
        var container = try store.open(model)
        for name in ["Base", "One", "Two"] {
            try store.insert(name, (0..<400).map { ["title": .string("\(name) \($0)")] }, container)
        }
        try container.dropEntity(named: "Two")
        // The model above still has the subentity, so the store is opened without a model.
        container = try store.open(nil)
        #expect(try container.check { _, _ in } == [])
        let plan = try container.plan(
            OrderDefinition(entity: "Base", predicate: try FetchPredicate("title == 'One 3'")))
        #expect(plan.rowsRead == 1)
        try store.insert("One", [["title": "new"]], container)
        let statistics = try #require(try container.cacheStatistics().first)
        #expect(statistics.isFresh)
        #expect(statistics.rowCount == 801)
    }

    @Test func anIndexOfAnAbstractEntityNeedsAPassOverRecordsOnlyIfSubentitiesHaveObjects() throws {
        func model(_ indexes: [Index]) -> Model {
            Model(entities: [
                Entity("Base", [.title], indexes: indexes, isAbstract: true), Entity("One", [], superentity: "Base"),
            ])
        }
        let container = try store.open(model([]))
        #expect(try container.plan(for: model([Index(["title"])])).verdict == .free)
        try store.insert("One", [["title": "a"]], container)
        #expect(try container.plan(for: model([Index(["title"])])).verdict == .pass)
    }

    @Test(arguments: [false, true])
    func aMaintainedCacheIncludesTheObjectsOfANewSubentity(hasSubentity: Bool) throws {
        let one = hasSubentity ? [Entity("One", [], superentity: "Base")] : []
        let container = try store.open(Model(entities: [Entity("Base", [.title])] + one))
        try store.insert("Base", [["title": "b"]], container)
        var own = OrderDefinition(entity: "Base", sortKeys: [SortKey("title")])
        let all = own
        own.includesSubentities = false
        for (definition, name) in [(all, "all"), (own, "own")] {
            try container.withOrder(definition, .init(cacheName: name)) { _ in }
            try container.setMaintained(true, cacheNamed: name)
        }
        let second = try store.open(
            Model(entities: [Entity("Base", [.title])] + one + [Entity("Two", [], superentity: "Base")]))
        try store.insert("Two", [["title": "a"]], second)
        for (definition, name, count) in [(all, "all", 2), (own, "own", 1)] {
            try second.withOrder(definition, .init(cacheName: name)) { order in
                #expect(order.outcome == .hit, "\(name)")
                #expect(order.rowCount == count, "\(name)")
            }
            #expect(try second.verifyCache(name) == [])
        }
    }

    @Test func aMergeThrowsIfTheEntityOfALiveControllerHasANewSubentity() throws {
        let first = Model(entities: [Entity("Base", [.title]), Entity("One", [], superentity: "Base")])
        let container = try store.open(first)
        try store.insert("One", [["title": "b"]], container)
        let context = container.newContext()
        var request = FetchRequest<ManagedObject>(entityName: "Base")
        request.sortKeys = [SortKey("title")]
        let controller = try FetchedResultsController(fetchRequest: request, context: context, cacheName: "all")
        try controller.performFetch()
        let second = Model(entities: first.entities + [Entity("Two", [], superentity: "Base")])
        try store.insert("Two", [["title": "a"]], store.open(second))
        #expect(
            throws: StoreError.modelMismatch(
                entity: "Base", "it has other subentities than before; use a new context")
        ) { try context.mergeChanges() }
        #expect(controller.fetchedObjects?.count == 1)
        let fresh = container.newContext()
        #expect(try fresh.count(for: request) == 2)
        withExtendedLifetime((context, controller)) {}
    }
}
