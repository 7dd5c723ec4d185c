internal import FetchIndexCLibrary

/// The maximum size of files that this process writes: ulimit -f.
package enum FileSizeLimit {
    /// The limit in bytes; nil if the process has none. getrlimit(RLIMIT_FSIZE)
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

    /// Runs a call that writes. A write beyond the limit fails with EFBIG, and the system also sends the thread
    /// SIGXFSZ, which would end the process. Unless the process handles or ignores that signal, the thread blocks it
    /// during the call and consumes it. If the process has no limit, this costs one system call. pthread_sigmask
    package static func withoutSignal<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard bytes != nil, Signals.isDefault(SIGXFSZ), let held = Signals.block(SIGXFSZ) else { return try body() }
        defer {
            let code = errno
            Signals.release(SIGXFSZ, held)
            errno = code
        }
        return try body()
    }
}
