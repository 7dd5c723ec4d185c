internal import Synchronization

/// Items that threads make, each for its place, and that one thread consumes in the order of their places.
///
///     producers    begin -> make -> put, until no place is left
///     consumer     next: consume the item whose turn it is, or make one, or wait
private final class OrderedPipe<Item>: @unchecked Sendable {
    enum Step {
        case make(Int)
        case consume(Result<Item, any Error>)
    }

    private let monitor = Monitor()
    /// The maximum number of items that are being made or are waiting.
    private let capacity: Int
    /// The number of items. It decreases if an item fails, or if a producer ends early.
    private var count: Int
    private var begun = 0
    private var consumed = 0
    private var waiting: [Int: Result<Item, any Error>] = [:]
    private let closed = Atomic(false)

    init(count: Int = .max, capacity: Int) { (self.count, self.capacity) = (count, capacity) }

    /// Whether the consumer has ended.
    var isClosed: Bool { closed.load(ordering: .relaxed) }

    private var hasRoom: Bool { begun < count && begun - consumed < capacity }

    private func beginNext() -> Int {
        defer { begun += 1 }
        return begun
    }

    /// Takes the next place; waits until it has room for an item. Returns nil if no more items are wanted.
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
            // The items behind one that failed aren't wanted.
            if case .failure = item { count = begun }
        }
    }

    /// Ends the items behind the last one that was begun.
    func end() { monitor.locked { count = min(count, begun) } }

    /// The consumer's next step: to consume an item, or, if it is a producer too and the item doesn't exist yet, to
    /// make one. Nil at the end.
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

    /// Waits for the next item; nil at the end. Throws the item's error.
    func take() throws -> Item? {
        guard case .consume(let item)? = next(isProducer: false) else { return nil }
        return try item.get()
    }

    /// Ends the consumer, so that producers end too.
    func close() {
        monitor.locked {
            closed.store(true, ordering: .relaxed)
            waiting = [:]
        }
    }
}

extension Threads {
    /// Makes a result of each part, 0 to count - 1, on several threads including this one. Consumes the results on this
    /// thread in the order of the parts, until the consumer returns false. At most `ahead` results for each thread
    /// wait. The error of a part is thrown after the parts before it are consumed. After an error, or the last wanted
    /// result, no more parts begin, and `isWanted` tells parts that are being made to end.
    package static func inOrder<Value>(
        _ threads: Int, parts count: Int, ahead: Int = 2,
        make: (_ thread: Int, _ part: Int, _ isWanted: () -> Bool) throws -> Value, consume: (Value) throws -> Bool
    ) throws {
        let pipe = OrderedPipe<Value>(count: count, capacity: ahead * threads)
        // The consumer's thread is number 0 alone.
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

    /// The error of a producer's delivery after the consumer has ended: the producer should end too.
    private struct NoConsumer: Error {}

    /// Calls the producer on a thread of its own, and the consumer on this one with the delivered items, in order. At
    /// most `capacity` items wait. Items delivered before an error of the producer are consumed. After an error of the
    /// consumer, the producer's next delivery throws. With one thread, and if the system gives no other, deliveries
    /// call the consumer.
    package static func pipe<Item>(
        _ threads: Int, capacity: Int, produce: ((consuming Item) throws -> Void) throws -> Void,
        consume: (consuming Item) throws -> Void
    ) throws {
        let pipe = OrderedPipe<Item>(capacity: capacity)
        // Both have ended when this function returns.
        try withoutActuallyEscaping(produce) { produce in
            let work = SharedWork(1) { _, _ in
                defer { pipe.end() }
                try produce { item in
                    guard let place = pipe.begin() else { throw NoConsumer() }
                    pipe.put(place, .success(item))
                }
            }
            // The consumer waits for the producer, so it can't do the producer's work if the thread begins late.
            guard threads > 1, start({ work.runNext() }) else {
                return try withoutActuallyEscaping(consume) { consume in try produce { try consume($0) } }
            }
            do {
                while let item = try pipe.take() { try consume(item) }
            } catch {
                pipe.close()
                try? work.end()
                throw error
            }
            try work.end()
        }
    }
}
