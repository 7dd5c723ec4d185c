internal import FetchIndexCLibrary
internal import FetchIndexEssentials

/// Work on several threads.
///
///     run        one call for each of some numbers: `SharedWork`, on threads that begin now
///     Crew       the same, on this thread and one that helps when it has done its own work
///     pipe       items of one producer, in order     } `OrderedPipe`
///     inOrder    results of parts, in their order    }
package enum Threads {
    /// The maximum number of threads for one task: each has its own reader of the store, files and memory.
    package static let most = 8
    /// The number of threads for a task unless specified. Read once, because the system reads files for it.
    package static let available = min(ProcessInfo.processInfo.activeProcessorCount, most)

    /// Calls the body with 0 to count - 1, each on a thread of its own, 0 on this one, and returns when all calls have
    /// ended. If several calls throw, throws the error of the least number. If the system gives no more threads, or a
    /// thread hasn't begun when this one is done, this thread does its work. So calls must not wait for calls with a
    /// greater number.
    package static func run(_ count: Int, _ body: (Int) throws -> Void) throws {
        if count == 1 { return try body(0) }
        // All calls have ended when the body returns.
        try withoutActuallyEscaping(body) { body in
            let work = SharedWork(count) { _, number in try body(number) }
            let first = work.begin()
            for _ in 1..<count { _ = start { work.runNext() } }
            if let first { work.run(first) }
            // This thread doesn't wait for others to begin: a sleeping processor begins a thread only after
            // milliseconds.
            while work.runNext() {}
            try work.end()
        }
    }

    /// Begins a thread. Returns false if the system gives none.
    static func start(_ body: @escaping () -> Void) -> Bool {
        let argument = Unmanaged.passRetained(Start(body)).toOpaque()
        #if canImport(Glibc)
            var thread = pthread_t()
            let code = pthread_create(&thread, nil, threadMain, argument)
        #else
            var thread: pthread_t?
            let code = pthread_create(&thread, nil, threadMain, argument)
        #endif
        guard code == 0 else {
            Unmanaged<Start>.fromOpaque(argument).release()
            return false
        }
        // The thread is detached: the work itself tells whether it has ended.
        #if canImport(Glibc)
            pthread_detach(thread)
        #else
            if let thread { pthread_detach(thread) }
        #endif
        return true
    }

    fileprivate final class Start {
        let body: () -> Void

        init(_ body: @escaping () -> Void) { self.body = body }
    }
}

private func threadMain(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    Unmanaged<Threads.Start>.fromOpaque(argument).takeRetainedValue().body()
    return nil
}
