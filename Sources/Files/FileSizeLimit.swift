internal import SystemBasics

/// The most bytes that a file of this process may have: ulimit -f.
package enum FileSizeLimit {
    /// Nil without a limit. getrlimit(RLIMIT_FSIZE)
    package static var bytes: Int? {
        var limits = rlimit()
        #if canImport(Glibc)
            let kind = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
        #else
            let kind = RLIMIT_FSIZE
        #endif
        guard getrlimit(kind, &limits) == 0 else { return nil }
        return Int(exactly: limits.rlim_cur)
    }

    /// Makes a write beyond the limit an error, where the process leaves it to the system to end it by SIGXFSZ.
    package static func becomesError() {
        if Signals.isDefault(SIGXFSZ) { signal(SIGXFSZ, SIG_IGN) }
    }
}
