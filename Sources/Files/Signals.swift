internal import SystemBasics

package enum Signals {
    /// Whether the process leaves it to the system what a signal does. sigaction
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

    /// Lets signals reach this thread, and threads that it makes. A program inherits the mask of the thread that started it, and
    /// threads of Dispatch block nearly all signals: a signal that should end the program would stay pending. pthread_sigmask
    package static func unblock(_ numbers: [CInt]) {
        var set = sigset_t()
        sigemptyset(&set)
        for number in numbers { sigaddset(&set, number) }
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }
}
