@testable import FetchIndexLMDB
import FetchIndex
import Foundation
import FetchIndexRecords
import Synchronization
import FetchIndexTestSupport
import Testing

/// The page walk finds no defect in a sound store, even while other threads write.
@Suite struct HealthyStoreTests {
    private static let tables = [TableDescription("bytes"), TableDescription("numbers", .integers)]

    @Test(arguments: 1...4) func thePageWalkAgreesWithLMDBAfterRandomTransactions(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let folder = TemporaryFolder()
        var options = Environment.Options()
        options.durability = .none
        let environment = try Environment.open(at: folder.path, options: options)
        let tables = try environment.tables(Self.tables, creating: true)
        var reader: ReadTransaction?
        for round in 0..<60 {
            try write(tables, shrinking: round % 20 >= 12, to: environment, &generator)
            // Sometimes a reader is open, so that pages can't be reused and the free list grows.
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: reader = try environment.beginRead()
            case 1: reader = nil
            default: break
            }
            let report = try Environment.checkPages(at: folder.path, expecting: Self.tables)
            #expect(report.defects == [], "seed \(seed), round \(round)")
            let current = try environment.beginRead()
            for (table, name) in zip(tables, ["bytes", "numbers"]) {
                let (walked, kept) = (report.tables[name], try current.view.statistics(of: table))
                #expect(walked?.depth == kept.depth)
                #expect(walked?.branchPages == kept.branchPages)
                #expect(walked?.leafPages == kept.leafPages)
                #expect(walked?.overflowPages == kept.overflowPages)
                #expect(walked?.entries == kept.entries, "seed \(seed), round \(round)")
            }
        }
        _ = consume reader
    }

    private func write(
        _ tables: [Table], shrinking: Bool, to environment: Environment, _ generator: inout SeededGenerator
    ) throws {
        let transaction = try environment.beginWrite()
        for _ in 0..<Int.random(in: 1...400, using: &generator) {
            let number = UInt64.random(in: 0..<600, using: &generator)
            let length = Int.random(in: 0..<40, using: &generator) == 0 ? 20000 : 300
            let value = [UInt8](repeating: 7, count: Int.random(in: 0..<length, using: &generator))
            let key = [UInt8](repeating: UInt8(number & 255), count: Int(number % 300) + 1)
            let isDeleting = Int.random(in: 0..<10, using: &generator) < (shrinking ? 9 : 2)
            switch (isDeleting, Bool.random(using: &generator)) {
            case (true, true): try transaction.view.delete(number, in: tables[1])
            case (true, false): try transaction.view.delete(key.span.bytes, in: tables[0])
            case (false, true): try transaction.view.put(value.span.bytes, for: number, in: tables[1])
            case (false, false): try transaction.view.put(value.span.bytes, for: key.span.bytes, in: tables[0])
            }
        }
        if Int.random(in: 0..<8, using: &generator) > 0 { try transaction.commit() }
    }

    /// The state that the writing threads share.
    private final class Writing: Sendable {
        let isDone = Atomic(false)
        let commits = Atomic(0)
        let failures = Mutex<[String]>([])
        let ended = DispatchSemaphore(value: 0)

        func write(from first: Int, to container: PersistentContainer) {
            defer { ended.signal() }
            var generator = SeededGenerator(seed: UInt64(first))
            var next = first
            do {
                // The number of objects is limited, since each commit makes the walks longer.
                while !isDone.load(ordering: .relaxed), next < first + 10_000 {
                    try SampleStore.insert(next..<next + 20, in: container, &generator)
                    next += 20
                    commits.add(1, ordering: .relaxed)
                }
            } catch {
                failures.withLock { $0.append("\(error)") }
            }
        }
    }

    @Test func thePageWalkReportsNoDefectsWhileTwoThreadsWrite() throws {
        let folder = TemporaryFolder()
        let container = try SampleStore.open(folder.path, creating: true)
        let writing = Writing()
        for writer in 0..<2 { Thread.detachNewThread { writing.write(from: writer * 1_000_000, to: container) } }
        var walks = 0
        while walks < 25 || writing.commits.load(ordering: .relaxed) <= 10, writing.failures.withLock({ $0.isEmpty }) {
            #expect(try Store.checkPages(at: folder.path).defects == [])
            walks += 1
        }
        writing.isDone.store(true, ordering: .relaxed)
        for _ in 0..<2 { writing.ended.wait() }
        #expect(writing.failures.withLock { $0 } == [])
        #expect(try container.check { _, _ in } == [])
    }
}
