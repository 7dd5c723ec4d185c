import FetchIndexPlatform
@testable import FetchIndex
import Foundation
import FetchIndexLMDB
import FetchIndexModels
import FetchIndexOrderCaches
import FetchIndexTestSupport
import Testing
import FetchIndexValues

@testable import FetchIndexRecords

/// Fetches that skip zones find what a scan of all objects finds.
@Suite struct ZoneFetchTests {
    static let entity = Entity(
        "File",
        [
            AttributeDescription("path", .string), AttributeDescription("section", .string),
            AttributeDescription("size", .integer), AttributeDescription("weight", .double),
            AttributeDescription("date", .date), AttributeDescription("isNew", .boolean),
        ])

    let folder = TemporaryFolder()

    func container(threads: Int = 2) throws -> PersistentContainer {
        var options = Store.Options()
        options.durability = .none
        options.threads = threads
        return try PersistentContainer(path: folder.path, model: Model(entities: [Self.entity]), options: options)
    }

    final class File {
        let path: String
        let section: String?
        let size: Int64
        let weight: Double?
        let date: Date
        let isNew: Bool

        init(path: String, section: String?, size: Int64, weight: Double?, date: Date, isNew: Bool) {
            (self.path, self.section, self.size) = (path, section, size)
            (self.weight, self.date, self.isNew) = (weight, date, isNew)
        }

        var values: [Value] {
            [
                .string(path), section.map(Value.string) ?? .null, .integer(size), weight.map(Value.double) ?? .null,
                .date(date), .boolean(isNew),
            ]
        }
    }

    enum Arrangement: CaseIterable { case sorted, descending, shuffled, inRuns }

    /// Files whose paths have long common beginnings, in the given arrangement.
    static func files(_ count: Int, _ arrangement: Arrangement, _ generator: inout SeededGenerator) -> [File] {
        var files: [File] = []
        for number in 0..<count {
            let package = 100 + number * 100 / count
            let weight: Double? = number % 1009 == 0 ? .nan : Double(number - count / 2) / 8
            files.append(
                File(
                    path: "usr/share/doc/package-\(package)/examples/file-\(1_000_000 + number)",
                    section: number % 997 == 0 ? nil : "section-\(10 + number * 40 / count)", size: Int64(number * 3),
                    weight: number % 1013 == 0 ? nil : weight,
                    date: Date(timeIntervalSinceReferenceDate: Double(number) * 60), isNew: number > count * 3 / 4))
        }
        switch arrangement {
        case .sorted: break
        case .descending: files.reverse()
        case .shuffled: files.shuffle(using: &generator)
        case .inRuns:
            // First the even numbers, then the odd ones, like two catalogues that follow each other.
            files = [0, 1].flatMap { rest in files.indices.filter { $0 % 2 == rest }.map { files[$0] } }
        }
        return files
    }

    func insert(_ files: [File], into container: PersistentContainer) throws {
        let writer = try container.store.beginWrite()
        for file in files {
            let record = try Self.entity.record(file.values)
            try writer.insert(0, record.span.bytes)
        }
        try writer.commit()
    }

    /// Sort keys, and the order that they must give. Null comes first, or last if descending; NaN is greater than every
    /// number.
    private static var orders: [(key: SortKey<ManagedObject>, precedes: (File, File) -> Bool)] {
        func text(_ left: String?, _ right: String?) -> Bool {
            guard let left, let right else { return left == nil && right != nil }
            return left < right  // the order of the bytes, since the texts are ASCII
        }
        func number(_ left: Double?, _ right: Double?) -> Bool {
            guard let left, let right else { return left == nil && right != nil }
            return left.isNaN || right.isNaN ? !left.isNaN && right.isNaN : left < right
        }
        return [
            (SortKey("size", .descending), { $0.size > $1.size }), (SortKey("size"), { $0.size < $1.size }),
            (SortKey("weight"), { number($0.weight, $1.weight) }),
            (SortKey("weight", .descending), { number($1.weight, $0.weight) }),
            (SortKey("section"), { text($0.section, $1.section) }),
            (SortKey("path", .descending), { text($1.path, $0.path) }),
            (SortKey("date"), { $0.date < $1.date }), (SortKey("isNew", .descending), { $0.isNew && !$1.isNew }),
        ]
    }

    private typealias Condition = (predicate: FetchPredicate, holds: (File) -> Bool)

    private static func condition(_ files: [File], _ generator: inout SeededGenerator) throws -> Condition {
        let (file, other) = (files.randomElement(using: &generator)!, files.randomElement(using: &generator)!)
        let section = file.section ?? "section-11"
        func precedes(_ left: String, _ right: String) -> Bool { left < right }
        switch Int.random(in: 0..<22, using: &generator) {
        case 0: return (try FetchPredicate("section == %@", section), { $0.section == section })
        case 1: return (try FetchPredicate("section == nil"), { $0.section == nil })
        case 2:
            let prefix = String(file.path.prefix(Int.random(in: 1...50, using: &generator)))
            return (try FetchPredicate("path BEGINSWITH %@", prefix), { $0.path.hasPrefix(prefix) })
        case 3: return (try FetchPredicate("path == %@", file.path), { $0.path == file.path })
        case 4:
            return (
                try FetchPredicate("path > %@ AND path <= %@", file.path, other.path),
                { precedes(file.path, $0.path) && !precedes(other.path, $0.path) }
            )
        case 5:
            let sizes = [file.size, other.size, 1]
            return (try FetchPredicate(format: "size IN %@", argumentArray: [sizes]), { sizes.contains($0.size) })
        case 6:
            return (
                try FetchPredicate("size BETWEEN {%@, %@}", file.size, file.size + 3000),
                { $0.size >= file.size && $0.size <= file.size + 3000 }
            )
        case 7:
            let weight = file.weight ?? 0
            return (try FetchPredicate("weight >= %@", weight), { $0.weight.map { $0 >= weight } ?? false })
        case 8:
            let weight = other.weight ?? -1
            return (try FetchPredicate("weight < %@", weight), { $0.weight.map { $0 < weight } ?? false })
        case 9:
            return (
                try FetchPredicate("date >= %@ AND section == %@", file.date, section),
                { $0.date >= file.date && $0.section == section }
            )
        case 10:
            return (
                try FetchPredicate("section == %@ OR size == %@", section, other.size),
                { $0.section == section || $0.size == other.size }
            )
        case 11: return (try FetchPredicate("NOT section == %@", section), { $0.section != section })
        case 12: return (try FetchPredicate("section != %@", section), { $0.section != section })
        case 13: return (try FetchPredicate("section CONTAINS '3'"), { $0.section?.contains("3") ?? false })
        case 14: return (try FetchPredicate("section ENDSWITH '7'"), { $0.section?.hasSuffix("7") ?? false })
        case 15: return (try FetchPredicate("section LIKE '*-?1'"), { $0.section?.hasSuffix("1") ?? false })
        case 16:
            let sections = [section, other.section ?? "section-12", "none"]
            return (
                try FetchPredicate(format: "section IN[c] %@", argumentArray: [sections.map { $0.uppercased() }]),
                { sections.contains($0.section ?? "") }
            )
        case 17:
            return (
                try FetchPredicate("section == nil OR section MATCHES '.*4'"),
                { $0.section?.hasSuffix("4") ?? true }
            )
        case 18:
            return (
                try FetchPredicate("uppercase:(section) == %@ AND size < %@", section.uppercased(), other.size),
                { $0.section == section && $0.size < other.size }
            )
        case 19:
            return (
                try FetchPredicate("section BEGINSWITH 'section-2' AND NOT section ENDSWITH '1' AND weight > 0"),
                { file in
                    guard let section = file.section, let weight = file.weight else { return false }
                    return section.hasPrefix("section-2") && !section.hasSuffix("1") && weight > 0
                }
            )
        case 20:
            return (
                try FetchPredicate("section < %@ AND path ENDSWITH '7'", section),
                { $0.section.map { precedes($0, section) } ?? false && $0.path.hasSuffix("7") }
            )
        default:
            return (
                try FetchPredicate("isNew == TRUE AND path CONTAINS 'package-19'"),
                { $0.isNew && $0.path.contains("package-19") }
            )
        }
    }

    /// The matches of random predicates are fetched in the order of object numbers, sorted and with a limit, and are
    /// counted. The same is done with unsaved edits, which may make objects of skipped zones match, and after the edits
    /// are saved.
    @Test(arguments: Arrangement.allCases, [1, 4]) func fetchesThatSkipZonesFindAllMatches(
        _ arrangement: Arrangement, threads: Int
    ) throws {
        var generator = SeededGenerator(seed: UInt64(threads))
        var files = Self.files(40_000, arrangement, &generator)
        let container = try container(threads: threads)
        try insert(files, into: container)
        let context = container.newContext()
        var skipping = 0
        // The indexes of all files in each of the orders.
        var sorted = Self.orders.map { _ in Array(files.indices) }
        func sort() {
            for (order, (_, precedes)) in Self.orders.enumerated() {
                sorted[order].sort {
                    precedes(files[$0], files[$1]) || !precedes(files[$1], files[$0]) && $0 < $1
                }
            }
        }
        sort()
        func check(_ condition: Condition, _ place: String) throws {
            let matches = files.map(condition.holds)
            let expected = matches.indices.filter { matches[$0] }.map { UInt64($0 + 1) }
            var request = FetchRequest<ManagedObject>(entityName: "File")
            request.predicate = condition.predicate
            #expect(try context.fetch(request).map(\.objectID.number) == expected, "\(place)")
            #expect(try context.count(for: request) == expected.count, "\(place)")
            request.fetchLimit = 3
            #expect(try context.fetch(request).map(\.objectID.number) == Array(expected.prefix(3)), "\(place)")
            for ((key, _), indexes) in zip(Self.orders, sorted) {
                request.sortKeys = [key]
                request.fetchLimit = Int.random(in: 1...70, using: &generator)
                let first = indexes.lazy.filter { matches[$0] }.prefix(request.fetchLimit).map { UInt64($0 + 1) }
                #expect(try context.fetch(request).map(\.objectID.number) == Array(first), "\(place), by \(key)")
            }
        }
        let rounds = TestSettings.isLong ? 26 : 5
        for round in 0..<rounds {
            let condition = try Self.condition(files, &generator)
            let plan = try container.plan(OrderDefinition(entity: "File", predicate: condition.predicate))
            #expect(plan.source == .scan)
            if plan.rowsRead < plan.rowCount { skipping += 1 }
            try check(condition, "\(arrangement), round \(round): \(condition.predicate), \(plan.rowsRead)")
        }
        if arrangement != .shuffled { #expect(skipping > rounds / 4, "\(arrangement)") }
        for round in 0..<(TestSettings.isLong ? 10 : 2) {
            let condition = try Self.condition(files, &generator)
            for _ in 0..<3 {
                let (index, other) = (
                    Int.random(in: files.indices, using: &generator), files.randomElement(using: &generator)!
                )
                let object = try context.existingObject(with: context.objectID(of: "File", number: UInt64(index + 1)))
                files[index] = other
                for (attribute, value) in zip(Self.entity.attributes, other.values) { object[attribute.name] = value }
            }
            sort()
            try check(condition, "\(arrangement), unsaved, round \(round): \(condition.predicate)")
            if round % 4 == 3 { try context.save() }
        }
        try context.save()
        #expect(try container.store.snapshot().check() == [])
        for round in 0..<10 {
            let condition = try Self.condition(files, &generator)
            try check(condition, "\(arrangement), saved, round \(round): \(condition.predicate)")
        }
    }

    /// A damaged zone costs a scan of all objects, and hides no object.
    @Test func aFetchWithADamagedZoneScansAllObjects() throws {
        var generator = SeededGenerator(seed: 7)
        let files = Self.files(20_000, .sorted, &generator)
        let container = try container()
        try insert(files, into: container)
        let predicate = try FetchPredicate("size < 3000")
        let definition = OrderDefinition(entity: "File", predicate: predicate)
        #expect(try container.plan(definition).rowsRead == 8191)
        let key = ZoneKey(entity: 0, index: 1)
        let transaction = try container.store.environment.beginWrite()
        var bytes: [UInt8] = []
        _ = try transaction.view.get(key.bytes, in: container.store.tables.meta) { bytes = [UInt8](copying: $0) }
        bytes[5] ^= 4
        try transaction.view.put(bytes, for: key.bytes, in: container.store.tables.meta)
        try transaction.commit()
        #expect(try container.plan(definition).rowsRead == 20_000)
        var request = FetchRequest<ManagedObject>(entityName: "File")
        request.predicate = predicate
        #expect(try container.newContext().fetch(request).count == 1000)
    }
}
