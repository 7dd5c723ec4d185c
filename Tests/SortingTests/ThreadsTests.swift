import Foundation
import Synchronization
import Testing

@testable import FetchIndexPlatform

@Suite struct ThreadsTests {
    private struct Fault: Error, Equatable { let number: Int }

    @Test func eachNumberRunsOnceAndTheErrorOfTheLeastFailingNumberIsThrown() throws {
        for count in 1...5 {
            let called = Mutex<[Int]>([])
            try Threads.run(count) { number in called.withLock { $0.append(number) } }
            #expect(called.withLock { $0.sorted() } == Array(0..<count))
            if count < 3 { continue }
            #expect(throws: Fault(number: 1)) {
                try Threads.run(count) { number in
                    if number > 0 { throw Fault(number: number) }
                }
            }
        }
    }

    /// The first thread is often done before other threads begin. If so, it does their work, too.
    @Test func threadsThatStartLateFindNoWorkLeft() throws {
        for _ in 0..<1000 {
            let count = Atomic(0)
            try Threads.run(4) { _ in count.add(1, ordering: .relaxed) }
            #expect(count.load(ordering: .relaxed) == 4)
        }
    }

    @Test(arguments: [1, 2], [1, 3, 100]) func aThreadPipeKeepsTheOrderOfItsValues(threads: Int, capacity: Int) throws {
        var taken: [Int] = []
        try Threads.pipe(threads, capacity: capacity) { deliver in
            for number in 0..<1000 { try deliver(number) }
        } consume: { (number: Int) in
            taken.append(number)
        }
        #expect(taken == Array(0..<1000))
    }

    /// A producer may start parallel work and another pipe, which start more threads.
    @Test(arguments: [1, 2]) func parallelWorkMayStartParallelWork(threads: Int) throws {
        var sum = 0
        try Threads.pipe(threads, capacity: 2) { deliver in
            try Threads.pipe(threads, capacity: 2) { deliver in
                for number in 0..<100 { try deliver(number) }
            } consume: { (number: Int) in
                let parts = Mutex(0)
                try Threads.run(3) { part in parts.withLock { $0 += part * number } }
                try deliver(parts.withLock { $0 })
            }
        } consume: { (part: Int) in
            sum += part
        }
        #expect(sum == 3 * 4950)
    }

    /// The values that were delivered before the error are consumed.
    @Test(arguments: [1, 2]) func anErrorOfTheProducerEndsThePipe(threads: Int) {
        var taken: [Int] = []
        #expect(throws: Fault(number: 7)) {
            try Threads.pipe(threads, capacity: 2) { deliver in
                for number in 0..<7 { try deliver(number) }
                throw Fault(number: 7)
            } consume: { (number: Int) in
                taken.append(number)
            }
        }
        #expect(taken == Array(0..<7))
    }

    @Test(arguments: [1, 2]) func anErrorOfTheConsumerEndsTheProducer(threads: Int) {
        let delivered = Mutex(0)
        #expect(throws: Fault(number: 3)) {
            try Threads.pipe(threads, capacity: 2) { deliver in
                while true {
                    try deliver(delivered.withLock { $0 })
                    delivered.withLock { $0 += 1 }
                }
            } consume: { (number: Int) in
                if number < 3 { return }
                // Meanwhile the producer fills the pipe, and waits.
                usleep(20_000)
                throw Fault(number: 3)
            }
        }
        #expect(delivered.withLock { $0 } < 10)
    }

    // MARK: Parts in order

    /// Makes the result of a part. Parts take different times, so that several threads may not end them in order.
    private func make(_ part: Int) -> Int {
        if part % 7 == 0 { usleep(200) }
        return part * part
    }

    @Test(arguments: [1, 2, 5], [0, 1, 2, 300]) func resultsOfParallelPartsComeInOrder(threads: Int, count: Int) throws
    {
        var results: [Int] = []
        try Threads.inOrder(threads, parts: count) { _, part, _ in
            make(part)
        } consume: { result in
            results.append(result)
            return true
        }
        #expect(results == (0..<count).map { $0 * $0 })
    }

    @Test(arguments: [1, 2, 5]) func onlyAFewPartsAreMadeBeforeTheyAreConsumed(threads: Int) throws {
        let made = Mutex<Set<Int>>([])
        var results: [Int] = []
        try Threads.inOrder(threads, parts: 1_000_000, ahead: 3) { thread, part, _ in
            #expect(made.withLock { $0.insert(part).inserted } && thread < threads)
            return make(part)
        } consume: { result in
            results.append(result)
            let (last, consumed) = (made.withLock { $0.max() ?? 0 }, results.count - 1)
            #expect(last <= consumed + 3 * threads)
            return results.count < 50
        }
        #expect(results == (0..<50).map { $0 * $0 })
        #expect(made.withLock { $0.count } <= 50 + 3 * threads)
    }

    @Test(arguments: [2, 5]) func partsStopWhenTheyAreNoLongerWanted(threads: Int) throws {
        var results: [Int] = []
        try Threads.inOrder(threads, parts: 100) { thread, part, isWanted in
            // If `isWanted` stayed true, these parts would never end.
            while thread > 0 && part > 0 && isWanted() { usleep(50) }
            return part
        } consume: { part in
            results.append(part)
            return false
        }
        #expect(results == [0])
    }

    /// An error after the last wanted part is ignored.
    @Test(arguments: [1, 2, 5], [39, 40, 41]) func anErrorOfAPartIsThrownInItsTurn(threads: Int, end: Int) {
        var results: [Int] = []
        func run() throws {
            try Threads.inOrder(threads, parts: 100) { _, part, _ in
                if part >= 40 { throw Fault(number: part) }
                return make(part)
            } consume: { result in
                results.append(result)
                return results.count < end
            }
        }
        if end > 40 {
            #expect(throws: Fault(number: 40)) { try run() }
        } else {
            #expect(throws: Never.self) { try run() }
        }
        #expect(results == (0..<min(end, 40)).map { $0 * $0 })
    }

    @Test(arguments: [1, 2, 5]) func anErrorOfTheConsumerEndsTheParts(threads: Int) {
        let made = Mutex(0)
        #expect(throws: Fault(number: 9)) {
            try Threads.inOrder(threads, parts: 1_000_000, ahead: 2) { _, part, _ in
                made.withLock { $0 += 1 }
                return part
            } consume: { part in
                if part == 9 { throw Fault(number: 9) }
                return true
            }
        }
        #expect(made.withLock { $0 } <= 10 + 2 * threads)
    }
}
