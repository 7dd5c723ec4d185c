internal import Synchronization
internal import FetchIndexCLibrary

/// Waits for SIGINT or SIGTERM on the main thread. Waiting needs no descriptor and no other thread, so the signals end
/// the program even if descriptors run out or other threads hang. An `Interruption` must be created before any other
/// thread, because it blocks the signals, and a new thread inherits the blocked signals of its creator.
struct Interruption: Sendable {
    private static let signals = [SIGINT, SIGTERM]
    /// The signal that the program sends to itself to end the wait.
    private static let endSignal = SIGUSR1

    init() { pthread_sigmask(SIG_BLOCK, [Self.set(Self.signals + [Self.endSignal])], nil) }

    private static func set(_ numbers: [CInt]) -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for number in numbers { sigaddset(&set, number) }
        return set
    }

    /// Waits until SIGINT or SIGTERM arrives or `end` is called.
    func wait() {
        var number: CInt = 0
        while sigwait([Self.set(Self.signals + [Self.endSignal])], &number) != 0 {}
    }

    /// Whether SIGINT or SIGTERM is pending.
    var hasCome: Bool {
        var waiting = sigset_t()
        return sigpending(&waiting) == 0 && Self.signals.contains { sigismember(&waiting, $0) == 1 }
    }

    /// Ends the wait, from another thread.
    func end() { kill(getpid(), Self.endSignal) }

    /// Lets the next SIGINT or SIGTERM end the process immediately.
    func endsAtNext() { pthread_sigmask(SIG_UNBLOCK, [Self.set(Self.signals)], nil) }
}

/// A value that is nil until a thread sets it.
final class Later<Value: Sendable>: Sendable {
    private let stored = Mutex<Value?>(nil)

    var value: Value? { stored.withLock { $0 } }

    func set(_ value: Value) { stored.withLock { $0 = value } }
}
