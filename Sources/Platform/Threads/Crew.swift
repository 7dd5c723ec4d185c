/// Two threads that share work: a leader divides its work into parts, and a helper takes some of the parts once it has
/// done other work. `Threads.run` doesn't fit, because the helper is an existing thread that is busy at first.
///
///     leader    lead { ... share(parts) ... share(parts) ... }
///     helper    other work, then help, until `lead` returns
package final class Crew: @unchecked Sendable {
    private let monitor = Monitor()
    private var work: SharedWork?
    private var isLed = false

    package init() {}

    /// Runs the leader's work. The body may call `share`; until the body returns, `help` on the other thread takes
    /// parts.
    package func lead(_ body: () throws -> Void) rethrows {
        monitor.locked { isLed = true }
        defer { monitor.locked { isLed = false } }
        try body()
    }

    /// Calls the body with each part, 0 to count - 1, on this thread (number 0) and on the helper's (number 1), which
    /// take the parts in that order. Only the leader may call this, in the body of `lead`. Returns when all calls have
    /// returned. After an error no more parts begin, and the error of the part with the least number is thrown.
    package func share(_ count: Int, _ body: (_ thread: Int, _ part: Int) throws -> Void) throws {
        // No call of the body runs any more when `end` returns, so the body doesn't escape.
        try withoutActuallyEscaping(body) { body in
            let work = SharedWork(count, body)
            monitor.locked { self.work = work }
            while work.runNext() {}
            monitor.locked { self.work = nil }
            try work.end()
        }
    }

    /// Takes parts of the leader's work until `lead` returns. If `lead` isn't running, returns immediately, because
    /// `lead` may never be called.
    package func help() {
        while let work = nextWork() { while work.runNext(as: 1) {} }
    }

    /// Waits until shared work has parts left, and returns that work. Returns nil if `lead` isn't running.
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
