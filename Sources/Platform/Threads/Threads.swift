internal import FetchIndexCLibrary
internal import FetchIndexEssentials

/// Ways to divide work among threads.
///
///     run        calls a body with 0 to count - 1, on new threads and this one  (`SharedWork`)
///     pipe       passes a producer's items to a consumer, in order         (`OrderedPipe`)
///     inOrder    makes results of parts, consumed in the parts' order      (`OrderedPipe`)
package enum Threads {
    /// The maximum number of threads for one task. Each thread may have its own reader of the store, its own files and
    /// memory.
    package static let most = 8
    /// The default number of threads for a task. It's computed once.
    package static let available = min(ProcessInfo.processInfo.activeProcessorCount, most)

    /// Calls the body with 0 to count - 1, each on its own thread, 0 on this one. Returns when all calls have returned.
    /// After an error, calls that haven't begun are left out. If several calls throw, throws the error of the call with
    /// the least number. If the system gives too few threads, or a thread hasn't begun when this thread is idle, this
    /// thread makes the missing calls. So a call must not wait for a call with a greater number.
    package static func run(_ count: Int, _ body: (Int) throws -> Void) throws {
        if count == 1 { return try body(0) }
        // No call of the body runs any more when `end` returns, so the body doesn't escape.
        try withoutActuallyEscaping(body) { body in
            let work = SharedWork(count, body)
            let first = work.begin()
            for _ in 1..<count { _ = start { work.runNext() } }
            if let first { work.run(first) }
            // This thread takes the calls of threads that haven't begun: a sleeping processor core can take
            // milliseconds to begin a thread.
            while work.runNext() {}
            try work.end()
        }
    }

    /// Begins a thread. Returns false if the system refuses.
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
        // The thread is detached: `SharedWork.end` waits for the work, so the thread needn't be joined.
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
