internal import FetchIndexCLibrary
internal import FetchIndexPlatform

/// Starts Swift's task runtime early. The runtime opens descriptors at first use (on Linux: epoll, eventfd, and a timer for each
/// clock). If it can't, it ends the process or never wakes a task. At the start of the program nothing else takes the descriptors.
enum TaskRuntime {
    private static let descriptors = 4
    private static let (patience, pauseInMicroseconds): (Duration, UInt32) = (.seconds(20), 200)

    struct CannotStart: Error, CustomStringConvertible {
        let description = "the system does not start the threads of this process (ulimit -u, ulimit -v)"
    }

    /// Starts the runtime. Throws `TooFewDescriptors` if fewer descriptors are free than the runtime needs plus `others`, and
    /// `CannotStart` if no task runs within 20 seconds. Returns early if a signal arrives.
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
