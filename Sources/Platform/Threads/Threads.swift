/// Work on several threads.
package enum Threads {
    /// The most that work is divided among: each has a reader of the store, files and memory of its own.
    package static let most = 8
    /// How many threads work is divided among unless it is said. Asked once: the system reads files for it.
    package static let available = min(ProcessInfo.processInfo.activeProcessorCount, most)

    /// Calls the body with 0 to count - 1, each on a thread of its own, 0 on this one, and returns when all calls have. Of
    /// several errors throws that of the least number. Where the system gives no more threads, or one has not begun yet when this one
    /// is done, this one does their work: then calls must not wait for those with a greater number.
    package static func run(_ count: Int, _ body: (Int) throws -> Void) throws {
        if count == 1 { return try body(0) }
        // All calls have returned before the body does.
        try withoutActuallyEscaping(body) { body in
            let work = Work(count, body)
            let threads = (1..<count).map { number in (number, start(work, number)) }
            work.run(0)
            for (number, thread) in threads {
                // A processor that sleeps begins a thread only after milliseconds.
                let isMine = work.run(number)
                guard let thread else { continue }
                if isMine { pthread_detach(thread) } else { pthread_join(thread, nil) }
            }
            work.forgetBody()
            if let failure = work.failure { throw failure }
        }
    }

    /// The body, and the first of its errors.
    final class Work: @unchecked Sendable {
        private let monitor = Monitor()
        /// Nil once all calls have returned: threads that begin later must not keep it.
        private var body: ((Int) throws -> Void)?
        private var hasBegun: [Bool]
        private var first: (number: Int, error: any Error)?

        init(_ count: Int, _ body: @escaping (Int) throws -> Void) {
            self.body = body
            hasBegun = Array(repeating: false, count: count)
        }

        var failure: (any Error)? { monitor.locked { first?.error } }

        /// Calls the body with a number, unless another thread does. Returns whether it did.
        @discardableResult
        func run(_ number: Int) -> Bool {
            guard let body = begin(number) else { return false }
            do { try body(number) } catch {
                monitor.locked {
                    if first.map({ number < $0.number }) ?? true { first = (number, error) }
                }
            }
            return true
        }

        private func begin(_ number: Int) -> ((Int) throws -> Void)? {
            monitor.locked {
                if hasBegun[number] { return nil }
                hasBegun[number] = true
                return body
            }
        }

        func forgetBody() { monitor.locked { body = nil } }
    }

    fileprivate final class Start: Sendable {
        let work: Work
        let number: Int

        init(_ work: Work, _ number: Int) {
            self.work = work
            self.number = number
        }
    }

    static func start(_ work: Work, _ number: Int) -> pthread_t? {
        let argument = Unmanaged.passRetained(Start(work, number)).toOpaque()
        #if canImport(Glibc)
            var thread = pthread_t()
            let code = pthread_create(&thread, nil, threadMain, argument)
        #else
            var thread: pthread_t?
            let code = pthread_create(&thread, nil, threadMain, argument)
        #endif
        if code == 0 { return thread }
        Unmanaged<Start>.fromOpaque(argument).release()
        return nil
    }
}

private func threadMain(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    let start = Unmanaged<Threads.Start>.fromOpaque(argument).takeRetainedValue()
    start.work.run(start.number)
    return nil
}
