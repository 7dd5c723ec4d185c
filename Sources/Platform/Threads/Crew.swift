internal import Synchronization

/// Two threads: a leader divides its work into parts, and a helper takes some of them when it has done its own work.
///
///     leader    lead { ... share(parts) ... share(parts) ... }
///     helper    its own work, then help, until the leader ends
package final class Crew: @unchecked Sendable {
    private struct Job {
        let body: (_ thread: Int, _ part: Int) throws -> Void
        let count: Int
        var begun = 0
        var ended = 0
        var failure: (part: Int, error: any Error)?

        var hasParts: Bool { begun < count && failure == nil }
    }

    private let monitor = Monitor()
    private var job: Job?
    private var isLed = false

    package init() {}

    /// Does the leader's work.
    package func lead(_ body: () throws -> Void) rethrows {
        monitor.locked { isLed = true }
        defer { monitor.locked { isLed = false } }
        try body()
    }

    /// Called by the leader, in `lead`, one share after the other. Calls the body with 0 to count - 1, in that order, on this thread, which is number 0, and on the one that helps, number 1.
    /// Returns when all calls have. After an error no more parts are begun. Of several errors throws that of the least part.
    package func share(_ count: Int, _ body: (_ thread: Int, _ part: Int) throws -> Void) throws {
        // All calls have ended before the body does.
        try withoutActuallyEscaping(body) { body in
            monitor.locked { job = Job(body: body, count: count) }
            work(as: 0)
            let failure = monitor.locked {
                while let job, job.ended < job.begun { monitor.wait() }
                defer { job = nil }
                return job?.failure?.error
            }
            if let failure { throw failure }
        }
    }

    /// Takes parts until the leader ends. Returns at once when it has not begun: it may never do.
    package func help() {
        var isOver = false
        while !isOver {
            work(as: 1)
            isOver = monitor.locked {
                while isLed && !(job?.hasParts ?? false) { monitor.wait() }
                return !isLed
            }
        }
    }

    private func work(as thread: Int) {
        while let (part, failure) = runNext(as: thread) {
            monitor.locked {
                job?.ended += 1
                if let failure, part < job?.failure?.part ?? .max { job?.failure = (part, failure) }
            }
        }
    }

    /// Nothing holds the body any more when it returns.
    private func runNext(as thread: Int) -> (part: Int, failure: (any Error)?)? {
        let next = monitor.locked { () -> Job? in
            guard let job, job.hasParts else { return nil }
            self.job?.begun += 1
            return job
        }
        guard let next else { return nil }
        do { try next.body(thread, next.begun) } catch { return (next.begun, error) }
        return (next.begun, nil)
    }
}
