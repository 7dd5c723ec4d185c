internal import FetchIndexCLibrary

package enum Signals {
    /// Whether a signal has the system's default action. sigaction
    package static func isDefault(_ number: CInt) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        // SIG_DFL is a null pointer.
        #if canImport(Darwin)
            return action.__sigaction_u.__sa_handler == nil
        #else
            return action.__sigaction_handler.sa_handler == nil
        #endif
    }

    /// Blocks a signal on this thread. Returns the thread's previous signal mask; nil if that failed. pthread_sigmask
    static func block(_ number: CInt) -> sigset_t? {
        var (added, before) = (sigset_t(), sigset_t())
        sigemptyset(&added)
        sigaddset(&added, number)
        return pthread_sigmask(SIG_BLOCK, &added, &before) == 0 ? before : nil
    }

    /// Restores the mask that `block` returned, and consumes the signal if it arrived since. Does nothing if the signal
    /// is blocked in that mask. sigpending, sigwait
    static func release(_ number: CInt, _ before: sigset_t) {
        var before = before
        if sigismember(&before, number) == 1 { return }
        var (pending, taken) = (sigset_t(), sigset_t())
        sigemptyset(&taken)
        sigaddset(&taken, number)
        var found: CInt = 0
        if sigpending(&pending) == 0, sigismember(&pending, number) == 1 { sigwait(&taken, &found) }
        pthread_sigmask(SIG_SETMASK, &before, nil)
    }

    /// Unblocks signals on this thread, and on threads that it creates later. A program inherits the mask of the thread
    /// that started it, and threads of Dispatch block nearly all signals. So a signal that should end the program could
    /// stay pending. pthread_sigmask
    package static func unblock(_ numbers: [CInt]) {
        var set = sigset_t()
        sigemptyset(&set)
        for number in numbers { sigaddset(&set, number) }
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }
}
