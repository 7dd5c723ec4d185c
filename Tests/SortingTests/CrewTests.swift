import Foundation
import FetchIndexPlatform
import FetchIndexTestSupport
import Testing

@Suite struct CrewTests {
    private struct Fault: Error, Equatable { let part: Int }

    /// Shares parts of work between the leading thread (0) and its helper (1). Returns the parts that each thread did.
    private func share(_ count: Int, _ body: (_ thread: Int, _ part: Int) throws -> Void) throws -> [[Int]] {
        let parts = Locked<[[Int]]>([[], []])
        try Crew.withHelper { crew in
            try crew.share(count) { thread, part in
                parts.withLock { $0[thread].append(part) }
                try body(thread, part)
            }
        }
        return parts.withLock { $0 }
    }

    @Test(arguments: [0, 1, 2, 100]) func eachPartOfSharedWorkIsDoneOnce(count: Int) throws {
        for _ in 0..<50 {
            let parts = try share(count) { _, _ in }
            #expect(parts.joined().sorted() == Array(0..<count))
        }
    }

    @Test func aHelperThreadTakesPartsWhileTheLeaderIsBusy() throws {
        let hasHelped = DispatchSemaphore(value: 0)
        let parts = try share(2) { thread, _ in
            // The leading thread waits until the helper has done a part.
            if thread == 0 { hasHelped.wait() } else { hasHelped.signal() }
        }
        // The helper may take both parts before the leading thread takes one.
        #expect(!parts[1].isEmpty)
        #expect(parts.joined().sorted() == [0, 1])
    }

    @Test func theErrorOfTheFirstFailingPartIsThrownAfterAllStartedPartsEnded() {
        let running = Locked(0)
        for _ in 0..<50 {
            #expect(throws: Fault(part: 3)) {
                _ = try share(100) { _, part in
                    running.withLock { $0 += 1 }
                    defer { running.withLock { $0 -= 1 } }
                    if part >= 3 { throw Fault(part: part) }
                }
            }
            #expect(running.withLock { $0 } == 0)
        }
    }

    @Test func aLeaderMayShareWorkSeveralTimes() throws {
        let sum = Locked(0)
        try Crew.withHelper { crew in
            for share in 0..<200 {
                try crew.share(4) { _, part in sum.withLock { $0 += share * 4 + part } }
                #expect(sum.withLock { $0 } == (0..<(share + 1) * 4).reduce(0, +))
            }
        }
    }

    @Test func aHelperWithoutALeaderReturns() {
        let crew = Crew()
        crew.help()
        crew.lead {}
        crew.help()
    }
}

/// A locked value. Its lock isn't a `Mutex`, because the thread sanitizer doesn't see that a `Mutex` is locked.
private final class Locked<Value>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) { self.value = value }

    func withLock<Result>(_ body: (inout Value) -> Result) -> Result { lock.withLock { body(&value) } }
}
