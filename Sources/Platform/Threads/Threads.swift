internal import FetchIndexCLibrary
internal import FetchIndexEssentials

/// Ways to divide work among threads, all of them by an `OrderedPipe`.
///
///     run        calls a body with 0 to count - 1, on new threads and this one
///     inOrder    makes results of parts on several threads, consumed in the parts' order
///     pipe       passes the items of one producer to a consumer, in order
///
/// Each call begins its own threads. A pool would save about 50 µs of a call, and calls take milliseconds to hours. It
/// couldn't be bounded either: producers of nested pipes, and followers of several sources, need a thread each.
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
        try inOrder(count, parts: count) { _, part, _ in
            try body(part)
        } consume: {
            true
        }
    }

    /// Calls `make` with each part, 0 to count - 1, on several threads including this one, which makes part 0. Calls
    /// `consume` with the results on this thread, in the order of the parts, until it returns false. At most `ahead` x
    /// `threads` results are being made or are waiting. The error of a failed part is thrown in its turn, after the
    /// results of the parts before it were consumed. After an error, or when `consume` returns false, no more parts
    /// begin. Once this thread has stopped consuming, `isWanted` returns false on the other threads.
    package static func inOrder<Value>(
        _ threads: Int, parts count: Int, ahead: Int = 2,
        make: (_ thread: Int, _ part: Int, _ isWanted: () -> Bool) throws -> Value, consume: (Value) throws -> Bool
    ) throws {
        // No call of `make` runs any more when `end` returns, so it doesn't escape.
        try withoutActuallyEscaping(make) { make in
            let pipe = OrderedPipe<Value>(count: count, capacity: ahead * threads)
            func put(_ part: Int, by thread: Int, _ pipe: OrderedPipe<Value>) {
                pipe.put(part, Result { try make(thread, part) { thread == 0 || !pipe.isClosed } })
            }
            defer { pipe.end() }
            let first = pipe.begin()
            // A system that gives no threads leaves all parts to this one.
            _ = pipe.start(1..<threads) { thread in
                while let part = pipe.begin() { put(part, by: thread, pipe) }
            }
            if let first { put(first, by: 0, pipe) }
            while let step = pipe.next(isProducer: true) {
                switch step {
                case .make(let part): put(part, by: 0, pipe)
                case .consume(let value): if try !consume(value.get()) { return }
                }
            }
        }
    }

    /// Thrown to a producer that delivers an item after the consumer has failed.
    private struct NoConsumer: Error {}

    /// Calls the producer on a new thread, and the consumer on this thread with each delivered item, in order. At most
    /// `capacity` items wait. If only the producer fails, the items that it has delivered are consumed, and then its
    /// error is thrown. If the consumer fails, the producer's next delivery throws, and then the consumer's error is
    /// thrown. If `threads` is 1, or the system gives no thread, each delivery calls the consumer directly.
    package static func pipe<Item>(
        _ threads: Int, capacity: Int, produce: ((consuming Item) throws -> Void) throws -> Void,
        consume: (consuming Item) throws -> Void
    ) throws {
        // The producer has returned when `end` returns, so it doesn't escape.
        try withoutActuallyEscaping(produce) { produce in
            let pipe = OrderedPipe<Item>(capacity: capacity)
            defer { pipe.end() }
            let started = pipe.start(1..<min(threads, 2)) { _ in
                do {
                    try produce { item in
                        guard let place = pipe.begin() else { throw NoConsumer() }
                        pipe.put(place, .success(item))
                    }
                } catch {
                    if let place = pipe.begin() { pipe.put(place, .failure(error)) }
                }
                pipe.finish()
            }
            if started == 0 {
                return try withoutActuallyEscaping(consume) { consume in try produce { try consume($0) } }
            }
            while case .consume(let item)? = pipe.next(isProducer: false) { try consume(item.get()) }
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
        // The thread is detached: `OrderedPipe.end` waits for the work, so the thread needn't be joined.
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
