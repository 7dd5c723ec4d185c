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
}
