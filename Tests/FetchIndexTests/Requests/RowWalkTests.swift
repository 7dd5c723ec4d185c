import FetchIndexPlatform
import FetchIndexTestSupport
import Foundation
import Testing

@testable import FetchIndex
@testable import FetchIndexRecords

/// Sorted fetches with a limit walk along a cache or unique keys, and find what a scan finds.
@Suite struct RowWalkTests {
    static let entity = Entity(
        "File",
        [
            AttributeDescription("path", .string, isUnique: true), AttributeDescription("section", .string),
            AttributeDescription("length", .integer), AttributeDescription("depth", .integer),
        ])
    static let count = 8000
    /// The maximum number of records that a walk reads, if a scan can't skip any.
    static let most = count / 128

    let folder = TemporaryFolder()
    let container: PersistentContainer
    var files: [File] = []

    struct File {
        var number: UInt64
        var path: String
        var section: String?
        var length: Int64?
        var depth: Int64

        init(_ number: Int, _ generator: inout SeededGenerator) {
            self.number = UInt64(number)
            path = "\(number * 7919 % 20_011)/\(number)"
            section = number % 101 == 0 ? nil : "section-\(Int.random(in: 0..<12, using: &generator))"
            length = number % 2003 == 0 ? nil : Int64.random(in: 0..<5000, using: &generator)
            depth = Int64.random(in: 0..<400, using: &generator)
        }

        var values: [Value] {
            [
                .string(path), section.map(Value.string) ?? .null, length.map(Value.integer) ?? .null, .integer(depth),
            ]
        }
    }

    init() throws {
        var options = Store.Options()
        options.durability = .none
        container = try PersistentContainer(path: folder.path, model: Model(entities: [Self.entity]), options: options)
        var generator = SeededGenerator(seed: 3)
        files = (1...Self.count).map { File($0, &generator) }
        let writer = try container.store.beginWrite()
        for file in files {
            let record = try Self.entity.record(file.values)
            try writer.insert(0, record.span.bytes)
        }
        try writer.commit()
    }

    func keep(_ sort: String, section: String? = nil, where format: String? = nil) throws {
        let definition = OrderDefinition(
            entity: "File", predicate: try format.map { try FetchPredicate($0) },
            sortKeys: try SortKey<ManagedObject>.list(parsing: sort), sectionKey: section.map { .attribute($0) })
        try container.withOrder(definition, .init(cacheName: "\(section ?? "") \(sort) \(format ?? "")")) { _ in }
    }

    func plan(_ format: String?, _ sort: String, limit: Int?) throws -> FetchPlan {
        try container.plan(
            OrderDefinition(
                entity: "File", predicate: try format.map { try FetchPredicate($0) },
                sortKeys: try SortKey<ManagedObject>.list(parsing: sort)),
            limit: limit)
    }

    // MARK: Results

    private static func compare<T: Comparable>(_ left: T?, _ right: T?) -> Int {
        guard let left, let right else { return (left == nil ? 0 : 1) - (right == nil ? 0 : 1) }
        return left < right ? -1 : left == right ? 0 : 1
    }

    private static func comparison(by key: Substring) -> (File, File) -> Int {
        let sign = key.hasSuffix(":desc") ? -1 : 1
        return switch key.prefix(while: { $0 != ":" }) {
        case "path": { sign * compare($0.path, $1.path) }
        case "section": { sign * compare($0.section, $1.section) }
        case "length": { sign * compare($0.length, $1.length) }
        default: { sign * compare($0.depth, $1.depth) }
        }
    }

    private static func sorted(_ files: [File], by sort: String) -> [File] {
        let comparisons = sort.split(separator: ",").map(comparison)
        return files.sorted { left, right in
            for comparison in comparisons {
                let order = comparison(left, right)
                if order != 0 { return order < 0 }
            }
            return left.number < right.number
        }
    }

    private static let sorts = [
        "path", "path:desc", "path,length", "section,path", "section:desc,path:desc", "section", "section:desc",
        "length",
        "length:desc", "length:desc,depth", "depth", "depth:desc", "depth,path", "section,length", "depth,length:desc",
    ]

    private static var conditions: [(format: String?, holds: (File) -> Bool)] {
        [
            (nil, { _ in true }), ("length > 2500", { $0.length.map { $0 > 2500 } ?? false }),
            ("section == 'section-3'", { $0.section == "section-3" }), ("section == nil", { $0.section == nil }),
            (
                "section == 'section-5' AND depth < 200",
                { $0.section == "section-5" && $0.depth < 200 }
            ),
            ("section IN {'section-1', 'section-7'}", { $0.section == "section-1" || $0.section == "section-7" }),
            ("length == nil OR length > 100", { $0.length.map { $0 > 100 } ?? true }),
            ("depth == 7", { $0.depth == 7 }), ("depth BETWEEN {20, 300}", { 20...300 ~= $0.depth }),
            ("path BEGINSWITH '7'", { $0.path.hasPrefix("7") }),
            ("path > '5' AND depth > 3", { $0.path > "5" && $0.depth > 3 }),
            ("depth * 2 == 3", { _ in false }), ("path CONTAINS 'x'", { _ in false }),
            ("path == '7919/1'", { $0.path == "7919/1" }),
        ]
    }

    /// Compares fetches with random predicates, sort keys, limits and offsets with a sort of all files: first without
    /// caches, then with caches, then with unsaved edits.
    @Test(arguments: 1...(TestSettings.isLong ? 8 : 2) as ClosedRange<UInt64>) func walksFindTheFirstRows(seed: UInt64)
        throws
    {
        var generator = SeededGenerator(seed: seed)
        var files = files
        let context = container.newContext()
        var plans: [String: Int] = [:]
        var sorted: [String: [File]] = [:]
        for round in 0..<120 {
            if round == 30 {
                for sort in ["section,path", "length:desc", "depth", "depth,length:desc"] { try keep(sort) }
                try keep("path", section: "section")
                try keep("length", where: "depth < 200")
                try context.mergeChanges()
            }
            if round == 80 {
                try edit(&files, in: context, &generator)
                sorted = [:]
            }
            let (format, holds) = Self.conditions.randomElement(using: &generator)!
            let sort = Self.sorts.randomElement(using: &generator)!
            var request = FetchRequest<ManagedObject>(entityName: "File")
            request.predicate = try format.map { try FetchPredicate($0) }
            request.sortKeys = try SortKey.list(parsing: sort)
            request.fetchLimit = [0, 1, 50, 50, Self.count].randomElement(using: &generator)!
            request.fetchOffset = [0, 0, 3, 60].randomElement(using: &generator)!
            let most = request.limit.map { $0 + request.fetchOffset }
            let plan = try plan(format, sort, limit: most)
            if round < 80 { plans["\(plan.source), \(plan.isInOrder)", default: 0] += 1 }
            let all = sorted[sort] ?? Self.sorted(files, by: sort)
            sorted[sort] = all
            let wanted = all.filter(holds).dropFirst(request.fetchOffset).prefix(request.limit ?? .max).map(\.path)
            let found = try context.fetch(request).map { $0["path"] }
            #expect(
                found == wanted.map(Value.string),
                "seed \(seed), round \(round): \(format ?? ""), \(sort), \(request.fetchOffset), \(request.fetchLimit), \(plan)"
            )
            if plan.isInOrder { #expect(plan.rowsRead <= Self.most, "\(plan)") }
        }
        #expect(plans.keys.count { $0.hasSuffix("true") } > 2, "seed \(seed): \(plans)")
    }

    /// Changes, deletes and inserts files, among them the first ones of several orders.
    private func edit(
        _ files: inout [File], in context: ManagedObjectContext, _ generator: inout SeededGenerator
    ) throws {
        var request = FetchRequest<ManagedObject>(entityName: "File")
        for sort in ["path", "path:desc", "section", "length:desc", "depth"] {
            request.sortKeys = try SortKey.list(parsing: sort)
            request.fetchLimit = 40
            for object in try context.fetch(request) where Bool.random(using: &generator) {
                guard let index = files.firstIndex(where: { $0.number == object.objectID.number }) else { continue }
                if Int.random(in: 0..<3, using: &generator) == 0 {
                    context.delete(object)
                    files.remove(at: index)
                    continue
                }
                var file = File(index, &generator)
                (file.number, file.path) = (files[index].number, "changed \(sort) \(index)")
                files[index] = file
                for (attribute, value) in zip(Self.entity.attributes, file.values) { object[attribute.name] = value }
            }
            context.processPendingChanges()
        }
        for number in 0..<20 {
            var file = File(number, &generator)
            // A new object comes after all others that equal it.
            (file.number, file.path) = (UInt64(1_000_000 + number), "\(number % 2 == 0 ? "" : "~")new \(number)")
            files.append(file)
            let object = try context.insert("File")
            for (attribute, value) in zip(Self.entity.attributes, file.values) { object[attribute.name] = value }
        }
    }
}
