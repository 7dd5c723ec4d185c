import FetchIndex
import Foundation
import FetchIndexOrderCaches
import FetchIndexRecords
import FetchIndexTestSupport
import Testing
import FetchIndexValues

@testable import FetchIndexLMDB

/// The map becomes full during transactions of many kinds.
@Suite struct FullMapTests {
    private let sample: SampleStore

    init() throws { sample = try SampleStore.shared.get() }

    enum Operation: CaseIterable {
        case insert, batchInsert, batchUpdate, update, delete, save, build, catchUp, deleteCache, trim, changeModel

        func run(in container: PersistentContainer) throws {
            var generator = SeededGenerator(seed: 4)
            switch self {
            case .insert: try SampleStore.insert(5000..<5100, in: container, &generator)
            case .batchInsert, .batchUpdate:
                let ids = self == .batchInsert ? Array(5000..<5100) : Array(stride(from: 1, to: 5000, by: 9))
                var request = BatchInsertRequest(
                    entityName: "Item", rows: ids.map { SampleStore.values($0, &generator) })
                if self == .batchUpdate { request.onUniqueConflict = .update }
                try container.newContext().execute(request)
            case .update:
                let writer = try BatchWriter(container, entity: "Item", key: "id")
                for id in stride(from: 1, to: 700, by: 9) {
                    guard let object = try writer.object(key: .string("item \(id)")) else { continue }
                    try writer.update(object, SampleStore.values(id, &generator))
                }
                try writer.commit()
            case .delete:
                let writer = try BatchWriter(container, entity: "Item", key: "id")
                for number in stride(from: 1 as UInt64, to: 700, by: 5) {
                    if let object = try writer.object(number: number) { try writer.delete(object) }
                }
                try writer.commit()
            case .save:
                let context = container.newContext()
                for id in 0..<20 { try context.insert("Item")["id"] = .string("saved \(id)") }
                try context.save()
            case .build:
                let definition = OrderDefinition(entity: "Item", sortKeys: [SortKey("text"), SortKey("id")])
                try SampleStore.openOrder("by text", definition, in: container)
            case .catchUp:
                for (name, definition) in SampleStore.orders {
                    try SampleStore.openOrder(name, definition, in: container)
                }
            case .deleteCache: try container.deleteCache(named: nil)
            case .trim:
                let context = container.newContext()
                try context.deleteHistory(before: container.store.snapshot().commit)
            case .changeModel:
                try withPublicErrors {
                    let writer = try container.store.beginWrite()
                    writer.setLogLimit(1 << 20)
                    try writer.commit()
                }
            }
        }
    }

    /// A snapshot keeps the map from growing and pages from being reused, and idle commits fill the map, except for the
    /// room of a few commits. If the operation then reaches the end of the map, the store must stay at its commit
    /// without defects, and the operation must succeed after the snapshot has ended.
    @Test(arguments: Operation.allCases) func anOperationThatFillsTheMapLeavesTheStoreSoundAtItsCommit(
        operation: Operation
    ) throws {
        let idle = try idleCommits()
        var refusals = 0
        for room in [0, 1, 2, 4, 8, 16] where room <= idle {
            let file = try DamagedFile(sample.data)
            let container = try opened(file)
            let before = refusals
            var snapshot: Snapshot? = try container.store.snapshot()
            let commit = snapshot?.commit
            for _ in 0..<idle - room { try Self.commitNothing(in: container) }
            do {
                try operation.run(in: container)
            } catch StoreError.notSaved(let reason) {
                refusals += 1
                #expect(reason.contains("no snapshot is open"))
                #expect(try container.store.snapshot().commit == commit)
                #expect(try file.defects() == [], "\(room) commits before the end")
            }
            snapshot = nil
            if refusals > before { try operation.run(in: container) }
            #expect(try file.defects() == [])
        }
        #expect(refusals > 0)
    }

    /// Opens the file with a map that is hardly larger than the file.
    private func opened(_ file: DamagedFile) throws -> PersistentContainer {
        let container = try SampleStore.open(file.folder.path, mapSize: sample.data.count)
        #expect(try container.store.environment.information().mapSize < sample.data.count + 65536)
        return container
    }

    /// The number of idle commits that fit into the map while a snapshot is open.
    private func idleCommits() throws -> Int {
        let file = try DamagedFile(sample.data)
        let container = try opened(file)
        let snapshot = try container.store.snapshot()
        defer { withExtendedLifetime((file, snapshot)) {} }
        var count = 0
        while true {
            do { try Self.commitNothing(in: container) } catch  where Self.isMapFull(error) { break }
            count += 1
        }
        return count
    }

    /// Whether an error says that the map is full: an error of the library, or of the layers below it, which some
    /// operations use directly.
    private static func isMapFull(_ error: any Error) -> Bool {
        if case StoreError.notSaved(let reason) = error { reason.contains("map of") } else { error is MapFull }
    }

    private static func commitNothing(in container: PersistentContainer) throws {
        let writer = try container.store.beginWrite()
        writer.setLogLimit(writer.state.logLimit)
        try writer.commit()
    }

    /// The first map is too small for the records and caches. An operation may fail several times, and succeeds once
    /// the map has grown.
    @Test func aStoreGrowsBeyondATinyMapByItself() throws {
        let folder = TemporaryFolder()
        let container = try SampleStore.open(folder.path, creating: true, mapSize: 1 << 17)
        var refusals = 0
        func insisting(_ body: () throws -> Void) throws {
            for _ in 0..<12 {
                do { return try body() } catch  where Self.isMapFull(error) {
                    refusals += 1
                    #expect("\(error)".hasSuffix("the next transaction tries to enlarge it"))
                }
            }
            try body()
        }
        for round in 0..<8 {
            try insisting {
                var generator = SeededGenerator(seed: UInt64(round))
                try SampleStore.insert(200 * round..<200 * (round + 1), in: container, &generator)
            }
            for (name, definition) in SampleStore.orders {
                try insisting { try SampleStore.openOrder(name, definition, in: container) }
            }
        }
        #expect(refusals > 0)
        #expect(try container.store.environment.information().mapSize > 1 << 19)
        #expect(try container.check { _, _ in } == [])
        #expect(try Store.checkPages(at: folder.path).defects == [])
    }
}
