internal import FetchIndexPlatform

/// What tasks need of the system. The runtime opens it at first use (on Linux: epoll, eventfd, and a timer for each clock), and ends
/// the process, or never wakes a task, if it gets none then. So it is made at the start, when nothing else takes descriptors.
enum TaskRuntime {
    private static let descriptors = 4
    private static let (patience, pauseInMicroseconds): (Duration, UInt32) = (.seconds(20), 200)

    struct CannotStart: Error, CustomStringConvertible {
        let description = "the system does not start the threads of this process (ulimit -u, ulimit -v)"
    }

    /// Throws `TooFewDescriptors` unless there are as many as the runtime needs, and others besides. Returns early when a signal comes.
    static func prepare(besides others: Int, until interruption: Interruption) throws {
        try Descriptors.requireFree(descriptors + others, for: "the live page")
        let isReady = Later<Bool>()
        Task {
            try? await Task.sleep(for: .microseconds(1), clock: .continuous)
            try? await Task.sleep(for: .microseconds(1), clock: .suspending)
            isReady.set(true)
        }
        let end = ContinuousClock.now + patience
        while isReady.value == nil, !interruption.hasCome {
            if ContinuousClock.now > end { throw CannotStart() }
            usleep(pauseInMicroseconds)
        }
    }
}
