internal import FetchIndexCLibrary
internal import Synchronization

/// Items that several threads make, and that one thread consumes in the order of the items' numbers.
///
///     producers    enter: begin -> make -> put, until `begin` returns nil; leave
///     consumer     next: consume the next item, or make one, or wait; at last `end`, which waits for the producers
final class OrderedPipe<Item>: @unchecked Sendable {
    enum Step {
        case make(Int)
        case consume(Result<Item, any Error>)
    }

    // The lock guards all variables. Threads that wait are woken after each change.
    private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    /// The maximum number of items that are being made or are waiting to be consumed.
    private let capacity: Int
    /// The number of items. It decreases if an item fails, or when no more items will begin.
    private var count: Int
    private var begun = 0
    private var consumed = 0
    private var waiting: [Int: Result<Item, any Error>] = [:]
    /// What a thread that produces does; nil after `end`, so that a thread that begins later doesn't retain it.
    private var produce: ((_ thread: Int) -> Void)?
    /// The number of threads that produce, except the consumer.
    private var producers = 0
    private let closed = Atomic(false)

    init(count: Int = .max, capacity: Int) {
        (self.count, self.capacity) = (count, capacity)
        pthread_mutex_init(lock, nil)
        pthread_cond_init(changed, nil)
    }

    deinit {
        pthread_mutex_destroy(lock)
        pthread_cond_destroy(changed)
        lock.deallocate()
        changed.deallocate()
    }

    private func locked<Result>(_ body: () throws -> Result) rethrows -> Result {
        pthread_mutex_lock(lock)
        defer {
            pthread_cond_broadcast(changed)
            pthread_mutex_unlock(lock)
        }
        return try body()
    }

    /// Waits for a change. Only for the body of `locked`.
    private func wait() { pthread_cond_wait(changed, lock) }

    /// Whether the consumer has stopped.
    var isClosed: Bool { closed.load(ordering: .relaxed) }

    private var hasRoom: Bool { begun < count && begun - consumed < capacity }

    private func beginNext() -> Int {
        defer { begun += 1 }
        return begun
    }

    // MARK: Producers

    /// Runs `body` on threads with the numbers in a range. Returns the number of threads that the system has given.
    func start(_ threads: Range<Int>, _ body: @escaping (_ thread: Int) -> Void) -> Int {
        locked { produce = body }
        return threads.count { thread in Threads.start { self.enter(thread) } }
    }

    private func enter(_ thread: Int) {
        let isLate = locked {
            if !isClosed { producers += 1 }
            return isClosed
        }
        if isLate { return }
        call(thread)
        locked { producers -= 1 }
    }

    /// A separate function, so that its reference to the body is released when it returns.
    private func call(_ thread: Int) { locked { produce }?(thread) }

    /// Returns the number of the next item to make; waits until the pipe has room for it. Returns nil if no more items
    /// may begin.
    func begin() -> Int? {
        locked {
            while !hasRoom && !isClosed && begun < count { wait() }
            return hasRoom && !isClosed ? beginNext() : nil
        }
    }

    func put(_ place: Int, _ item: Result<Item, any Error>) {
        locked {
            if isClosed { return }
            waiting[place] = item
            // The consumer stops at the failed item, so no more items may begin.
            if case .failure = item { count = begun }
        }
    }

    /// Notes that no more items will begin.
    func finish() { locked { count = min(count, begun) } }

    // MARK: The consumer

    /// The consumer's next step: it consumes the next item, if that one is ready. Otherwise, if the consumer is also a
    /// producer, it makes an item. Waits if neither is possible. Returns nil at the end.
    func next(isProducer: Bool) -> Step? {
        locked {
            while consumed < count {
                if let item = waiting.removeValue(forKey: consumed) {
                    consumed += 1
                    return .consume(item)
                }
                if isProducer && hasRoom { return .make(beginNext()) }
                wait()
            }
            return nil
        }
    }

    /// Ends the pipe: discards waiting items, and waits for the producers, which stop when they next call `begin`.
    func end() {
        // `locked` wakes the producers when its body ends, so the first body must not wait for them.
        locked {
            closed.store(true, ordering: .relaxed)
            waiting = [:]
        }
        locked {
            while producers > 0 { wait() }
            produce = nil
        }
    }
}
