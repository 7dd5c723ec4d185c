extension Threads {
    /// The producer's deliveries throw this when nobody takes them any more, so that it ends.
    private struct NoConsumer: Error {}

    /// Calls the producer on a second thread, and the consumer on this one with the delivered items, in order. At most
    /// `capacity` items wait. Items delivered before an error of the producer are consumed; after an error of the
    /// consumer the producer's next delivery throws. With one thread, or if the system gives no second one, deliveries
    /// call the consumer directly.
    package static func pipe<Item>(
        _ threads: Int, capacity: Int, produce: ((consuming Item) throws -> Void) throws -> Void,
        consume: (consuming Item) throws -> Void
    ) throws {
        guard threads > 1 else {
            return try withoutActuallyEscaping(consume) { consume in try produce { try consume($0) } }
        }
        let queue = Queue<Item>(capacity: capacity)
        // Both have ended when this function returns.
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

    /// A queue of items between two threads.
    private final class Queue<Item>: @unchecked Sendable {
        private let capacity: Int
        private let monitor = Monitor()
        private var items: [Item] = []
        private var isEnded = false
        private var isClosed = false

        init(capacity: Int) { self.capacity = capacity }

        /// Waits for room. Returns false if the items aren't taken any more.
        func put(_ item: consuming Item) -> Bool {
            let item = item
            return monitor.locked {
                while items.count >= capacity && !isClosed { monitor.wait() }
                if !isClosed { items.append(item) }
                return !isClosed
            }
        }

        /// Waits for an item; nil at the end.
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
