internal import Synchronization

extension Threads {
    /// Makes a result of each part, 0 to count - 1, on several threads, this one among them, and consumes the results on this
    /// one in the order of the parts, until the consumer returns false. At most `ahead` results for each thread wait. An error of
    /// a part is thrown when the parts before it are consumed. After an error, or the last result that is wanted, no more parts are
    /// begun, and `isWanted` tells those under way to end.
    package static func inOrder<Result>(
        _ threads: Int, parts count: Int, ahead: Int = 2,
        make: (_ thread: Int, _ part: Int, _ isWanted: () -> Bool) throws -> Result, consume: (Result) throws -> Bool
    ) throws {
        let parts = Parts<Result>(count: count, ahead: ahead * threads)
        // The consumer's thread is number 0 alone.
        try run(threads) { thread in
            if thread > 0 {
                while let part = parts.take() {
                    parts.put(part, Swift.Result { try make(thread, part) { !parts.isEnded } })
                }
                return
            }
            defer { parts.end() }
            while let step = parts.next() {
                switch step {
                case .make(let part): parts.put(part, Swift.Result { try make(thread, part) { true } })
                case .consume(let result): if try !consume(result.get()) { return }
                }
            }
        }
    }

    /// Parts that several threads make, and results that wait for their turn.
    private final class Parts<Value>: @unchecked Sendable {
        enum Step {
            case make(Int)
            case consume(Result<Value, any Error>)
        }

        private let monitor = Monitor()
        private let count: Int
        private let ahead: Int
        private var begun = 0
        private var consumed = 0
        private var waiting: [Int: Result<Value, any Error>] = [:]
        private let ended = Atomic(false)

        init(count: Int, ahead: Int) {
            self.count = count
            self.ahead = ahead
        }

        var isEnded: Bool { ended.load(ordering: .relaxed) }

        private var hasRoom: Bool { begun < count && begun - consumed < ahead }

        private func begin() -> Int {
            defer { begun += 1 }
            return begun
        }

        /// The next part for a thread to make, when there is room for its result. Nil at the end.
        func take() -> Int? {
            monitor.locked {
                while !hasRoom && !isEnded && begun < count { monitor.wait() }
                return hasRoom && !isEnded ? begin() : nil
            }
        }

        func put(_ part: Int, _ result: Result<Value, any Error>) {
            monitor.locked {
                waiting[part] = result
                // Nobody wants the parts behind one that failed.
                if case .failure = result { begun = count }
            }
        }

        /// What the consumer's thread does next: it consumes the next result, or makes a part while that one is not there. Nil at the end.
        func next() -> Step? {
            monitor.locked {
                while consumed < count {
                    if let result = waiting.removeValue(forKey: consumed) {
                        consumed += 1
                        return .consume(result)
                    }
                    if hasRoom { return .make(begin()) }
                    monitor.wait()
                }
                return nil
            }
        }

        func end() { monitor.locked { ended.store(true, ordering: .relaxed) } }
    }
}
