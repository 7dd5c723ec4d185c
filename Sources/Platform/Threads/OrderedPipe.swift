internal import Synchronization

/// Items that several threads make, and that one thread consumes in the order of the items' numbers.
///
///     producers    begin -> make -> put, until `begin` returns nil
///     consumer     next: consume the next item, or make one, or wait
private final class OrderedPipe<Item>: @unchecked Sendable {
    enum Step {
        case make(Int)
        case consume(Result<Item, any Error>)
    }

    private let monitor = Monitor()
    /// The maximum number of items that are being made or are waiting to be consumed.
    private let capacity: Int
    /// The number of items. It decreases if an item fails, or when `end` is called.
    private var count: Int
    private var begun = 0
    private var consumed = 0
    private var waiting: [Int: Result<Item, any Error>] = [:]
    private let closed = Atomic(false)

    init(count: Int = .max, capacity: Int) { (self.count, self.capacity) = (count, capacity) }

    /// Whether the consumer has stopped.
    var isClosed: Bool { closed.load(ordering: .relaxed) }

    private var hasRoom: Bool { begun < count && begun - consumed < capacity }

    private func beginNext() -> Int {
        defer { begun += 1 }
        return begun
    }

    /// Returns the number of the next item to make; waits until the pipe has room for it. Returns nil if no more items
    /// may begin.
    func begin() -> Int? {
        monitor.locked {
            while !hasRoom && !isClosed && begun < count { monitor.wait() }
            return hasRoom && !isClosed ? beginNext() : nil
        }
    }

    func put(_ place: Int, _ item: Result<Item, any Error>) {
        monitor.locked {
            if isClosed { return }
            waiting[place] = item
            // The consumer stops at the failed item, so no more items may begin.
            if case .failure = item { count = begun }
        }
    }

    /// Notes that no more items will begin.
    func end() { monitor.locked { count = min(count, begun) } }

    /// The consumer's next step: it consumes the next item, if that one is ready. Otherwise, if the consumer is also a
    /// producer, it makes an item. Waits if neither is possible. Returns nil at the end.
    func next(isProducer: Bool) -> Step? {
        monitor.locked {
            while consumed < count {
                if let item = waiting.removeValue(forKey: consumed) {
                    consumed += 1
                    return .consume(item)
                }
                if isProducer && hasRoom { return .make(beginNext()) }
                monitor.wait()
            }
            return nil
        }
    }

    /// Waits for the next item; returns nil at the end. Throws the item's error if making it failed.
    func take() throws -> Item? {
        guard case .consume(let item)? = next(isProducer: false) else { return nil }
        return try item.get()
    }

    /// Notes that the consumer has stopped, and discards waiting items. Producers stop when they next call `begin`.
    func close() {
        monitor.locked {
            closed.store(true, ordering: .relaxed)
            waiting = [:]
        }
    }
}

extension Threads {
    /// Calls `make` with each part, 0 to count - 1, on several threads including this one. Calls `consume` with the
    /// results on this thread, in the order of the parts, until it returns false. At most `ahead` x `threads` results
    /// are being made or are waiting. The error of a failed part is thrown in its turn, after the results of the parts
    /// before it were consumed. After an error, or when `consume` returns false, no more parts begin. Once this thread
    /// has stopped consuming, `isWanted` returns false on the other threads.
    package static func inOrder<Value>(
        _ threads: Int, parts count: Int, ahead: Int = 2,
        make: (_ thread: Int, _ part: Int, _ isWanted: () -> Bool) throws -> Value, consume: (Value) throws -> Bool
    ) throws {
        let pipe = OrderedPipe<Value>(count: count, capacity: ahead * threads)
        // Only thread 0, this one, consumes.
        try run(threads) { thread in
            if thread > 0 {
                while let part = pipe.begin() {
                    pipe.put(part, Result { try make(thread, part) { !pipe.isClosed } })
                }
                return
            }
            defer { pipe.close() }
            while let step = pipe.next(isProducer: true) {
                switch step {
                case .make(let part): pipe.put(part, Result { try make(thread, part) { true } })
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
        try withoutActuallyEscaping(produce) { produce in
            try pipe(threads, capacity: capacity) { deliver in
                try produce { _ = try deliver($0) }
            } answer: {
                try consume($0)
            }
        }
    }

    /// Like the other `pipe`, but the consumer answers each item. A delivery returns the newest answer, which may be
    /// the answer to an earlier item; nil before the first answer.
    package static func pipe<Item, Answer: Sendable>(
        _ threads: Int, capacity: Int, produce: ((consuming Item) throws -> Answer?) throws -> Void,
        answer: (consuming Item) throws -> Answer
    ) throws {
        let pipe = OrderedPipe<Item>(capacity: capacity)
        let newest = Mutex<Answer?>(nil)
        // The producer doesn't escape: it has returned when this function returns.
        try withoutActuallyEscaping(produce) { produce in
            let work = SharedWork(1) { _ in
                defer { pipe.end() }
                try produce { item in
                    guard let place = pipe.begin() else { throw NoConsumer() }
                    pipe.put(place, .success(item))
                    return newest.withLock { $0 }
                }
            }
            // The consumer waits for the producer, so this thread can't run the producer if the new thread begins late.
            guard threads > 1, start({ work.runNext() }) else {
                return try withoutActuallyEscaping(answer) { answer in try produce { try answer($0) } }
            }
            do {
                while let item = try pipe.take() {
                    let answer = try answer(item)
                    newest.withLock { $0 = answer }
                }
            } catch {
                pipe.close()
                try? work.end()
                throw error
            }
            try work.end()
        }
    }
}
