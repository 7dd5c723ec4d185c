import Foundation
import FetchIndexModels
import Synchronization
import FetchIndexTestSupport
import Testing

@testable import FetchIndexRecords

@Suite struct ScanTests {
    private static let count = 20_000

    private func store(threads: Int) throws -> TestStore {
        let test = try TestStore(model: TestStore.books, threads: threads)
        var batch = RecordBatch()
        for number in 0..<Self.count {
            let record = try test.book("\(number)")
            batch.append(record.span.bytes)
        }
        try test.write { writer in
            for index in 0..<batch.count {
                _ = try writer.write(0, batch[index], by: TestStore.books.entities[0].uniqueConstraints)
            }
        }
        return test
    }

    @Test(arguments: [1, 2, 4, 8]) func eachThreadFinishesOnceAfterItsLastBlock(threads: Int) throws {
        let test = try store(threads: threads)
        let scan = try Scan(of: test.store.snapshot(), entities: [0], fewestOfThread: 4_000)
        #expect(scan.threadCount == min(threads, 5))
        let seen = Mutex<[UInt64]>([])
        let finished = Mutex<[Int]>([])
        try scan.forEachBlock(of: 0) { thread, block in
            #expect(finished.withLock { !$0.contains(thread) })
            var numbers: [UInt64] = []
            block.forEachOfAll { object, _ in numbers.append(object.number) }
            seen.withLock { $0 += numbers }
        } finish: { thread in
            finished.withLock { $0.append(thread) }
        }
        #expect(seen.withLock { $0.sorted() } == (1...UInt64(Self.count)).map { $0 })
        #expect(finished.withLock { $0.sorted() } == Array(0..<scan.threadCount))
    }

    private struct Fault: Error, Equatable { let isOfFinish: Bool }

    /// If threads finished after a failure, their work would be useless, and their errors could hide the first error.
    @Test(arguments: [1, 2, 4]) func theErrorOfAThreadIsNotHiddenByThoseOfFinishingThreads(threads: Int) throws {
        let test = try store(threads: threads)
        let scan = try Scan(of: test.store.snapshot(), entities: [0], fewestOfThread: 4_000)
        let hasFailed = Mutex(false)
        #expect(throws: Fault(isOfFinish: false)) {
            try scan.forEachBlock(of: 0) { thread, block in
                // The last thread fails; the other threads read on slowly until they notice.
                if thread == scan.threadCount - 1 {
                    hasFailed.withLock { $0 = true }
                    throw Fault(isOfFinish: false)
                }
                while !hasFailed.withLock({ $0 }) { usleep(100) }
                usleep(10_000)
            } finish: { _ in
                throw Fault(isOfFinish: true)
            }
        }
    }

    /// A scan of candidates reads them in blocks, in the order of their object numbers. It throws at the first missing
    /// object.
    @Test func aScanOfCandidatesThrowsAtAMissingObject() throws {
        let test = try store(threads: 4)
        let snapshot = try test.store.snapshot()
        func read(_ numbers: [UInt64]) throws -> [UInt64] {
            let objects = numbers.map { RecordKey(entity: 0, number: $0) }
            let scan = try Scan(of: snapshot, .objects(objects), entities: [0], fewestOfThread: 1)
            #expect(scan.threadCount == 1)
            var inBlocks: [UInt64] = []
            var finished = 0
            try scan.forEachBlock(of: 0) { _, block in
                block.forEach { object, _ in inBlocks.append(object.number) }
            } finish: {
                finished += $0 + 1
            }
            var selected: [UInt64] = []
            try scan.forEachSelected(of: 0) { _, block in
                block.keep { object, _ in object.number % 2 == 0 }
            } _: { object in
                selected.append(object.number)
                return selected.count < 300
            }
            #expect(finished == 1)
            #expect(selected == Array(numbers.filter { $0 % 2 == 0 }.prefix(300)))
            return inBlocks
        }
        for step in [1, 7, 1000] {
            let numbers = stride(from: UInt64(1), through: UInt64(Self.count), by: step).map { $0 }
            #expect(try read(numbers) == numbers)
        }
        #expect(try read([]) == [])
        let missing = RecordKey(entity: 0, number: UInt64(Self.count) + 1)
        do {
            _ = try read([5, missing.number, missing.number + 1])
            Issue.record("the missing object was not reported")
        } catch let error as MissingObject { #expect(error.object == missing) }
    }
}
