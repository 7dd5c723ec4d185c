import Foundation
import Synchronization
import SystemBasics
import Testing

@Suite struct ThreadsTests {
    private struct Fault: Error, Equatable { let number: Int }

    @Test func allNumbersAreCalledOnceAndTheErrorOfTheLeastIsThrown() throws {
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

    @Test(arguments: [1, 2], [1, 3, 100]) func aPipeKeepsTheOrder(threads: Int, capacity: Int) throws {
        var taken: [Int] = []
        try Threads.pipe(threads, capacity: capacity) { deliver in
            for number in 0..<1000 { try deliver(number) }
        } consume: { (number: Int) in
            taken.append(number)
        }
        #expect(taken == Array(0..<1000))
    }

    /// What was delivered before an error is consumed.
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
                if number == 3 { throw Fault(number: 3) }
            }
        }
        #expect(delivered.withLock { $0 } < 10)
    }
}
