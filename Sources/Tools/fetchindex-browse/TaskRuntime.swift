internal import FetchIndexCLibrary
internal import FetchIndexPlatform

/// Starts Swift's task runtime at the start of the program, before other code takes the descriptors. The runtime opens
/// descriptors at its first use (on Linux: epoll, eventfd, and a timer for each clock). If none is free, it ends the
/// process or never wakes a task.
enum TaskRuntime {
    private static let descriptors = 4
    private static let (patience, pauseInMicroseconds): (Duration, UInt32) = (.seconds(20), 200)

    struct CannotStart: Error, CustomStringConvertible {
        let description =
            "no task has run in 20 seconds; if the limits of this process are low, raise them (ulimit -u, ulimit -v)"
    }

    /// Starts the runtime. Throws `TooFewDescriptors` if fewer descriptors are free than `others` plus those of the
    /// runtime. Throws `CannotStart` if no task has run after 20 seconds. Returns early if a signal arrives.
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
