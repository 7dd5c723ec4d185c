internal import Synchronization

extension Threads {
    /// Makes a result of each part, 0 to count - 1, on several threads, including this one. Consumes the results on
    /// this thread in the order of the parts, until the consumer returns false. At most `ahead` results for each thread
    /// wait. A part's error is thrown when the parts before it are consumed. After an error, or the last wanted result,
    /// no more parts begin, and `isWanted` tells the running parts to end.
    package static func inOrder<Result>(
        _ threads: Int, parts count: Int, ahead: Int = 2,
        make: (_ thread: Int, _ part: Int, _ isWanted: () -> Bool) throws -> Result, consume: (Result) throws -> Bool
    ) throws {
        let parts = Parts<Result>(count: count, ahead: ahead * threads)
        // Only the consumer's thread has number 0.
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

        /// The next part for a thread to make, when there is room for its result; nil at the end.
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

        /// The consumer's next step: consuming the next result, or making a part while that result is missing. Nil at
        /// the end.
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
