extension Threads {
    /// What a producer's deliveries throw when nobody takes them any more: it should end then.
    private struct NoConsumer: Error {}

    /// Calls the producer on a thread of its own and the consumer on this one with what it delivers, in order. At most
    /// `capacity` items wait. What was delivered before an error of the producer is consumed; after an error of the consumer
    /// the producer's next delivery throws. With one thread, and where the system gives no other, deliveries call the
    /// consumer.
    package static func pipe<Item>(
        _ threads: Int, capacity: Int, produce: ((consuming Item) throws -> Void) throws -> Void,
        consume: (consuming Item) throws -> Void
    ) throws {
        guard threads > 1 else {
            return try withoutActuallyEscaping(consume) { consume in try produce { try consume($0) } }
        }
        let queue = Queue<Item>(capacity: capacity)
        // Both have ended when this function does.
        try withoutActuallyEscaping(produce) { produce in
            let work = Work(2) { _ in
                defer { queue.end() }
                try produce { item in if !queue.put(item) { throw NoConsumer() } }
            }
            guard let producer = start(work, 1) else {
                return try withoutActuallyEscaping(consume) { consume in try produce { try consume($0) } }
            }
            do {
                while let item = queue.take() { try consume(item) }
            } catch {
                queue.close()
                pthread_join(producer, nil)
                throw error
            }
            pthread_join(producer, nil)
            if let failure = work.failure { throw failure }
        }
    }

    /// Items between two threads.
    private final class Queue<Item>: @unchecked Sendable {
        private let capacity: Int
        private let monitor = Monitor()
        private var items: [Item] = []
        private var isEnded = false
        private var isClosed = false

        init(capacity: Int) { self.capacity = capacity }

        /// Waits for room. False when the items are not taken any more.
        func put(_ item: consuming Item) -> Bool {
            let item = item
            return monitor.locked {
                while items.count >= capacity && !isClosed { monitor.wait() }
                if !isClosed { items.append(item) }
                return !isClosed
            }
        }

        /// Waits for an item. Nil at the end.
        func take() -> Item? {
            monitor.locked {
                while items.isEmpty && !isEnded { monitor.wait() }
                return items.isEmpty ? nil : items.removeFirst()
            }
        }

        func end() { monitor.locked { isEnded = true } }

        func close() {
            monitor.locked {
                isClosed = true
                items = []
            }
        }
    }
}
