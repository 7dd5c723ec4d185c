internal import Synchronization
internal import FetchIndexPlatform

/// Waiting for SIGINT or SIGTERM on the main thread, which needs neither descriptors nor other threads: whatever happens to these, the
/// signals end the program. Made before any thread is, since threads inherit that the signals wait.
struct Interruption: Sendable {
    private static let signals = [SIGINT, SIGTERM]
    /// Sent by the program to itself.
    private static let endSignal = SIGUSR1

    init() { pthread_sigmask(SIG_BLOCK, [Self.set(Self.signals + [Self.endSignal])], nil) }

    private static func set(_ numbers: [CInt]) -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for number in numbers { sigaddset(&set, number) }
        return set
    }

    /// Returns when a signal has come, or `end` was called.
    func wait() {
        var number: CInt = 0
        while sigwait([Self.set(Self.signals + [Self.endSignal])], &number) != 0 {}
    }

    /// Whether a signal waits for `wait`.
    var hasCome: Bool {
        var waiting = sigset_t()
        return sigpending(&waiting) == 0 && Self.signals.contains { sigismember(&waiting, $0) == 1 }
    }

    /// Wakes the thread that waits, from another one.
    func end() { kill(getpid(), Self.endSignal) }

    /// From now on a signal ends the process at once.
    func endsAtNext() { pthread_sigmask(SIG_UNBLOCK, [Self.set(Self.signals)], nil) }
}

/// A value that another thread sets.
final class Later<Value: Sendable>: Sendable {
    private let stored = Mutex<Value?>(nil)

    var value: Value? { stored.withLock { $0 } }

    func set(_ value: Value) { stored.withLock { $0 = value } }
}
