/// Two threads: a leader divides its work into parts, and a helper takes some of them when it has done its own work.
/// `Threads.run` doesn't fit here: the helper is a thread that exists already and is busy until then, so a share must
/// not wait for it.
///
///     leader    lead { ... share(parts) ... share(parts) ... }
///     helper    its own work, then help, until the leader ends
package final class Crew: @unchecked Sendable {
    private let monitor = Monitor()
    private var work: SharedWork?
    private var isLed = false

    package init() {}

    /// Does the leader's work.
    package func lead(_ body: () throws -> Void) rethrows {
        monitor.locked { isLed = true }
        defer { monitor.locked { isLed = false } }
        try body()
    }

    /// Calls the body with 0 to count - 1, in that order, on this thread (number 0) and on the helper's (number 1).
    /// Called by the leader in `lead`, one share after the other. Returns when all calls have ended. After an error no
    /// more parts begin, and the error of the least part is thrown.
    package func share(_ count: Int, _ body: (_ thread: Int, _ part: Int) throws -> Void) throws {
        // All calls have ended when the body returns.
        try withoutActuallyEscaping(body) { body in
            let work = SharedWork(count, body)
            monitor.locked { self.work = work }
            while work.runNext() {}
            monitor.locked { self.work = nil }
            try work.end()
        }
    }

    /// Takes parts until the leader ends. Returns at once if the leader hasn't begun, because it may never begin.
    package func help() {
        while let work = nextWork() { while work.runNext(as: 1) {} }
    }

    /// Waits for work that has parts left; nil once the leader has ended.
    private func nextWork() -> SharedWork? {
        monitor.locked {
            while isLed {
                if let work, work.hasParts { return work }
                monitor.wait()
            }
            return nil
        }
    }
}
