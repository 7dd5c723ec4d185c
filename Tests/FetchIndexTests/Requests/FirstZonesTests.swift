import FetchIndexTestSupport
import Foundation
import Synchronization
import Testing

@testable import FetchIndex
@testable import FetchIndexOrderCaches
@testable import FetchIndexRecords

/// Sorted fetches with a limit read the zones with the first rows first.
@Suite struct FirstZonesTests {
    private static let entity = Entity(
        "File",
        [
            AttributeDescription("length", .integer), AttributeDescription("weight", .double),
            AttributeDescription("name", .string), AttributeDescription("depth", .integer),
        ])

    private let folder = TemporaryFolder()

    private func container(threads: Int) throws -> PersistentContainer {
        var options = Store.Options()
        options.durability = .none
        options.threads = threads
        return try PersistentContainer(path: folder.path, model: Model(entities: [Self.entity]), options: options)
    }

    private struct File {
        var length: Int64?
        var weight: Double?
        var name: String?
        var depth: Int64

        /// A file of a zone, in which values are near each other.
        init(inZone zone: Int, _ generator: inout SeededGenerator) {
            func maybe<T>(_ value: T) -> T? { Int.random(in: 0..<3000, using: &generator) == 0 ? nil : value }
            let base = Int64(zone * 7 % 5 * 100)
            length = maybe(base + Int64.random(in: 0..<150, using: &generator))
            weight = maybe(zone % 4 == 2 ? .nan : Double(zone * 3 % 7) + Double.random(in: 0..<2, using: &generator))
            name = maybe("\(zone * 5 % 9)/\(Int.random(in: 0..<4000, using: &generator))")
            depth = Int64.random(in: 0..<40, using: &generator)
        }

        var values: [Value] {
            [
                length.map(Value.integer) ?? .null, weight.map(Value.double) ?? .null, name.map(Value.string) ?? .null,
                .integer(depth),
            ]
        }
    }

    private func insert(_ files: [File], into container: PersistentContainer) throws {
        let writer = try container.store.beginWrite()
        for file in files {
            let record = try Self.entity.record(file.values)
            try writer.insert(0, record.span.bytes)
        }
        try writer.commit()
    }

    /// Whether a value comes before another one. Null is first, and NaN is greater than every number.
    private static func precedes<T: Comparable>(_ left: T?, _ right: T?) -> Bool {
        guard let left, let right else { return left == nil && right != nil }
        if let left = left as? Double, let right = right as? Double, left.isNaN || right.isNaN {
            return !left.isNaN && right.isNaN
        }
        return left < right
    }

    private static var keys: [(name: String, precedes: (File, File) -> Bool)] {
        [
            ("length", { precedes($0.length, $1.length) }), ("weight", { precedes($0.weight, $1.weight) }),
            ("name", { precedes($0.name, $1.name) }), ("depth", { precedes($0.depth, $1.depth) }),
        ]
    }

    private static var conditions: [(format: String, holds: (File) -> Bool)] {
        [
            ("TRUEPREDICATE", { _ in true }), ("length > 120", { $0.length.map { $0 > 120 } ?? false }),
            ("depth == 7", { $0.depth == 7 }), ("depth == 7 AND length == 3", { $0.depth == 7 && $0.length == 3 }),
            ("depth == 41", { _ in false }), ("name BEGINSWITH '3'", { $0.name?.hasPrefix("3") ?? false }),
            ("length == nil", { $0.length == nil }),
        ]
    }

    /// Compares fetches with random sort keys, limits and offsets with a sort of all files, also with unsaved edits.
    /// There are enough objects for zones to be parts of the scan.
    @Test(arguments: [(1, 20_000), (2, 66_000)]) func sortedFetchesFindTheFirstRows(threads: Int, count: Int) throws {
        let seed = UInt64(threads)
        var generator = SeededGenerator(seed: seed)
        var files = (0..<count).map { File(inZone: $0 / Int(Zone.length), &generator) }
        let container = try container(threads: threads)
        try insert(files, into: container)
        let context = container.newContext()
        let rounds = TestSettings.isLong ? 60 : threads == 1 ? 24 : 6
        for round in 0..<rounds {
            if round == rounds / 2 {
                for _ in 0..<30 {
                    let index = Int.random(in: files.indices, using: &generator)
                    files[index] = File(inZone: Int.random(in: 0..<9, using: &generator), &generator)
                    let id = try context.objectID(of: "File", number: UInt64(index + 1))
                    let object = try context.existingObject(with: id)
                    for (attribute, value) in zip(Self.entity.attributes, files[index].values) {
                        object[attribute.name] = value
                    }
                }
            }
            let (format, holds) = Self.conditions.randomElement(using: &generator)!
            let (name, precedes) = Self.keys.randomElement(using: &generator)!
            let isDescending = Bool.random(using: &generator)
            var request = FetchRequest<ManagedObject>(entityName: "File")
            request.predicate = try FetchPredicate(format)
            request.sortKeys = [SortKey(name, isDescending ? .descending : .ascending)]
            request.fetchLimit = [0, 1, 50, 700, count].randomElement(using: &generator)!
            request.fetchOffset = [0, 0, 3, 100].randomElement(using: &generator)!
            let sorted = files.indices.filter { holds(files[$0]) }.sorted {
                let (left, right) = (files[isDescending ? $1 : $0], files[isDescending ? $0 : $1])
                return precedes(left, right) || !precedes(right, left) && $0 < $1
            }
            let wanted = sorted.dropFirst(request.fetchOffset).prefix(request.limit ?? .max).map { UInt64($0 + 1) }
            let found = try context.fetch(request).map(\.objectID.number)
            #expect(
                found == Array(wanted),
                "seed \(seed), round \(round): \(format), \(request.sortKeys), \(request.fetchOffset), \(request.fetchLimit)"
            )
        }
    }

    /// The values ascend with the object numbers, so that the last zone has the first rows of a descending order.
    @Test(arguments: [
        ("length", "length > 0", 1), ("length", "depth >= 0", 1), ("depth", "depth >= 0", 5),
        ("length", "depth * 2 == 3", 5),
    ]) func aScanEndsAfterTheZonesThatMayHaveTheFirstRows(key: String, format: String, zones: Int) throws {
        var generator = SeededGenerator(seed: 1)
        let container = try container(threads: 1)
        let count = 5 * Int(Zone.length) - 1
        let files = (0..<count).map { number in
            var file = File(inZone: 0, &generator)
            file.length = Int64(number)
            return file
        }
        try insert(files, into: container)
        let definition = OrderDefinition(
            entity: "File", predicate: try FetchPredicate(format), sortKeys: [SortKey(key, .descending)])
        let snapshot = try container.store.snapshot()
        let (request, selection) = try definition.plan(in: snapshot)
        var builder = request.builder
        let read = Mutex(0)
        builder.progress = { done, total in read.withLock { if done < total { $0 = done } } }
        var found: [UInt64] = []
        try builder.walkMembers(of: snapshot, from: selection, .byRow(most: 50)) { object in
            found.append(object.number)
            return true
        }
        #expect(found.count == (format == "depth * 2 == 3" ? 0 : 50))
        if key == "length", zones == 1 { #expect(found == (0..<50).map { UInt64(count - $0) }) }
        // Progress is told after each 4,096 records or somewhat more.
        let most = zones * Int(Zone.length)
        #expect(read.withLock { $0 } <= most && read.withLock { $0 } > most - 5000, "\(read.withLock { $0 })")
    }
}
