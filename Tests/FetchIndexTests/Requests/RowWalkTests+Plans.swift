import FetchIndexLMDB
import FetchIndexPlatform
import FetchIndexTestSupport
import Testing

@testable import FetchIndex
@testable import FetchIndexRecords

/// When a walk is planned, and how far it goes.
extension RowWalkTests {
    @Test func aWalkAlongUniqueKeysEndsWithTheLastWantedRow() throws {
        let all = try plan(nil, "path", limit: 50)
        #expect(all.source == .uniqueKey(attribute: "path") && all.isInOrder && all.rowsRead == 50)
        #expect("\(all)" == "unique key path, in order")
        #expect(try plan("depth < 200", "path:desc,length", limit: 20).rowsRead < 100)
        let some = try plan("path > '5' AND depth >= 0", "path", limit: 50)
        #expect(some.isInOrder && some.rowsRead == 50)
        // A fetch that wants all rows, or is sorted by another attribute, scans.
        #expect(try plan("depth < 200", "path", limit: nil).source == .scan)
        #expect(try plan("depth < 200", "length,path", limit: 50).source == .scan)
        #expect(try plan("depth < 200", "path:caseInsensitive", limit: 50).source == .scan)
    }

    /// At a quarter of the price of a scan, each record of a walk costing 32 records of a scan.
    @Test func aWalkIsGivenUpBeforeItCostsMuch() throws {
        for sort in ["path", "path:desc"] {
            #expect(try plan("depth >= 0", sort, limit: Self.most).rowsRead == Self.most)
            #expect(try plan("depth >= 0", sort, limit: Self.most + 1).source == .scan)
            #expect(try plan("depth * 2 == 3", sort, limit: 1).source == .scan)
            // A scan that skips zones costs little.
            #expect(try plan("depth > 1000", sort, limit: 1).rowsRead == 0)
        }
    }

    @Test func aWalkAlongACacheCompletesRowsThatEqualTheLastOne() throws {
        try keep("depth")
        let byDepth = FetchPlan.Source.order(name: " depth ", attribute: "depth")
        // The rows of the cache with equal depths are in the order of the object numbers.
        let first = try plan(nil, "depth", limit: 10)
        #expect(first.source == byDepth && first.isInOrder && first.rowsRead == 10)
        // Backwards they aren't. There are about 20 objects of each depth.
        let last = try plan(nil, "depth:desc", limit: 10)
        let count = files.count { $0.depth == 399 }
        #expect(last.source == byDepth && last.isInOrder && last.rowsRead == count + 1)
        #expect("\(last)" == "cache \" depth \" on depth, in order")
    }

    @Test func aWalkAlongACacheStaysInTheRangeOfThePredicate() throws {
        try keep("path", section: "section")
        let source = FetchPlan.Source.order(name: "section path ", attribute: "section")
        let plan = try plan("section == 'section-4'", "path:desc", limit: 10)
        #expect(plan.source == source && plan.isInOrder && plan.rowsRead == 11)
        let others = try self.plan("section IN {'section-1', 'section-2'}", "section,path", limit: 30)
        #expect(others.source == source && others.isInOrder && others.rowsRead == 30 && others.lookUpCount == 2)
        // Among the rows of two sections, the paths aren't in order.
        let mixed = try self.plan("section IN {'section-1', 'section-2'}", "path", limit: 10)
        #expect(mixed.source == .uniqueKey(attribute: "path"))
    }

    /// Keys that the predicate limits to one value don't matter, whatever their directions are.
    @Test func constantSortKeysDoNotPreventAWalk() throws {
        try keep("path", section: "section")
        let source = FetchPlan.Source.order(name: "section path ", attribute: "section")
        let plan = try plan("section == 'section-4'", "section:desc,path", limit: 10)
        #expect(plan.source == source && plan.isInOrder && plan.rowsRead == 10, "\(plan)")
        // Rows with equal depths are sorted by their paths in the cache, and by their object numbers in the fetch.
        try keep("depth,path")
        var request = FetchRequest<ManagedObject>(entityName: "File")
        request.predicate = try FetchPredicate("section == 'section-4'")
        request.sortKeys = [SortKey("depth"), SortKey("section")]
        request.fetchLimit = 5
        let wanted = files.filter { $0.section == "section-4" }.sorted { ($0.depth, $0.number) < ($1.depth, $1.number) }
        let context = container.newContext()
        #expect(try context.fetch(request).map { $0["path"] } == wanted.prefix(5).map { .string($0.path) })
    }

    /// Each range of a walk costs a step.
    @Test func manyLookUpsWithoutMatchesEndAWalk() throws {
        let none = (0..<1000).map { "'none \($0)'" }.joined(separator: ",")
        #expect(try !plan("path IN {\(none)} AND depth > 0", "path", limit: 10).isInOrder)
        let some = files.prefix(5).map { "'\($0.path)'" }.joined(separator: ",")
        #expect(try plan("path IN {\(some)}", "path", limit: 10).lookUpCount == 5)
    }

    @Test func aWalkPassesObjectsOfSubentities() throws {
        let base = Entity(
            "Base", [AttributeDescription("path", .string, isUnique: true), AttributeDescription("size", .integer)])
        let model = Model(entities: [base, Entity("Special", [], superentity: "Base")])
        let folder = TemporaryFolder()
        var options = Store.Options()
        options.durability = .none
        let container = try PersistentContainer(path: folder.path, model: model, options: options)
        let context = container.newContext()
        for number in 10_000..<14_000 {
            let object = try context.insert(number % 50 < 2 ? "Special" : "Base")
            object["path"] = .string("\((number * 7919) % 10_007)/\(number)")
            object["size"] = .integer(Int64(number % 10))
        }
        let first = try context.insert("Special")
        first["path"] = "!"
        try context.save()
        var definition = OrderDefinition(entity: "Base", sortKeys: [SortKey("path")])
        definition.includesSubentities = false
        let plan = try container.plan(definition, limit: 5)
        #expect(plan.isInOrder && plan.rowsRead == 5, "\(plan)")
        var request = FetchRequest<ManagedObject>(entityName: "Base")
        request.includesSubentities = false
        request.sortKeys = [SortKey("path")]
        let all = try container.newContext().fetch(request).map { $0["path"] }
        request.fetchLimit = 5
        #expect(try container.newContext().fetch(request).map { $0["path"] } == Array(all.prefix(5)))
    }

    /// Unique keys don't lead to objects with null.
    @Test func objectsWithNullPreventAWalkAlongUniqueKeys() throws {
        let context = container.newContext()
        try context.insert("File")["depth"] = 3
        try context.save()
        #expect(try plan("depth == 3", "path", limit: 1).source == .scan)
        #expect(try plan("depth > 3 AND path > ''", "path", limit: 1).isInOrder)
        var request = FetchRequest<ManagedObject>(entityName: "File")
        request.predicate = try FetchPredicate("depth == 3")
        request.sortKeys = [SortKey("path")]
        request.fetchLimit = 1
        #expect(try context.fetch(request).map { $0["path"] } == [.null])
    }

    @Test func aDamagedUniqueKeyDoesNotHideAnObjectFromAWalk() throws {
        let first = try #require(files.min { $0.path < $1.path })
        let writer = try container.store.beginWrite()
        let record = try Self.entity.record(first.values)
        let key = try #require(try writer.uniqueKey(0, Self.entity.uniqueConstraints[0], record.span.bytes))
        // The key leads to another object.
        var value: [UInt8] = [first.number == 7 ? 8 : 7]
        value.appendChecksum()
        try writer.view.put(value.span.bytes, for: key.span.bytes, in: writer.tables.unique)
        try writer.commit()
        var request = FetchRequest<ManagedObject>(entityName: "File")
        request.sortKeys = [SortKey("path")]
        request.fetchLimit = 1
        #expect(try container.newContext().fetch(request).map { $0["path"] } == [.string(first.path)])
    }
}
