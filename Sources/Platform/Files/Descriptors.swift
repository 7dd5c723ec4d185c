internal import FetchIndexCLibrary

/// Opens files with descriptors of 3 or more. Descriptors 0 to 2 are standard input, output and error. If a program is
/// started with one of these closed, the next file that the program opens gets the free descriptor, and everything that
/// the program prints could be written into that file. So a store's files should have other descriptors.
package enum Descriptors {
    private static let firstFree: CInt = 3
    /// The maximum to which `raiseLimit` raises the limit.
    private static let mostFiles: rlim_t = 65_536
    #if os(Linux)
        private static let duplicateClosing: CInt = 1030  // F_DUPFD_CLOEXEC, a macro that Swift does not import
    #else
        private static let duplicateClosing = F_DUPFD_CLOEXEC
    #endif

    /// open(2): returns a descriptor of 3 or more, or fails with errno. The caller adds O_CLOEXEC to the flags.
    package static func open(_ path: String, _ flags: CInt, _ mode: UInt16 = 0o600) -> CInt {
        raised(FetchIndexCLibrary.open(path, flags, mode_t(mode)))
    }

    /// Replaces a descriptor below 3 by a duplicate of 3 or more, or by -1 if the system refuses; returns other
    /// descriptors unchanged. fcntl(F_DUPFD_CLOEXEC)
    package static func raised(_ file: CInt) -> CInt {
        guard (0..<firstFree).contains(file) else { return file }
        let raised = fcntl(file, duplicateClosing, firstFree)
        let code = errno
        close(file)
        errno = code
        return raised
    }

    /// Opens /dev/null for each of the descriptors 0 to 2 that is closed; to be called before libraries open files.
    /// Standard input is opened for writing and the other two for reading, so that using them still fails.
    package static func openMissingStandard() {
        for file in 0..<firstFree where fcntl(file, F_GETFD) < 0 && errno == EBADF {
            // open(2) returns the lowest closed descriptor, which is `file`.
            let opened = FetchIndexCLibrary.open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY, 0)
            if opened >= firstFree { close(opened) }
        }
    }

    /// Whether a descriptor that a library opened is 3 or more.
    package static func isSafe(_ file: CInt) -> Bool { file >= firstFree }

    #if canImport(Glibc)
        private static let limitKind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
        private static let limitKind = RLIMIT_NOFILE
    #endif

    /// Raises the soft limit of open files and sockets to the hard limit, but to at most `mostFiles`: a server has a
    /// socket for each client.
    package static func raiseLimit() {
        var limits = rlimit()
        guard getrlimit(limitKind, &limits) == 0 else { return }
        limits.rlim_cur = max(limits.rlim_cur, min(limits.rlim_max, mostFiles))
        setrlimit(limitKind, &limits)
    }

    /// The number of files and sockets that the process may have open: ulimit -n. getrlimit(RLIMIT_NOFILE)
    package static var limit: Int {
        var limits = rlimit()
        return getrlimit(limitKind, &limits) == 0 ? Int(clamping: limits.rlim_cur) : .max
    }

    /// The number of free descriptors, at most `most`. Examines descriptors without opening any: opening them could
    /// leave other threads without descriptors. O(most + open descriptors).
    package static func free(upTo most: Int) -> Int {
        var count = 0
        var file = min(limit, Int(CInt.max)) - 1
        while file >= 0, count < most {
            if fcntl(CInt(file), F_GETFD) < 0 && errno == EBADF { count += 1 }
            file -= 1
        }
        return count
    }

    /// Throws unless `count` descriptors are free now.
    package static func requireFree(_ count: Int, for purpose: String) throws(TooFewDescriptors) {
        let free = free(upTo: count)
        if free < count { throw TooFewDescriptors(purpose: purpose, needed: count, free: free, limit: limit) }
    }
}

/// The process has too few free descriptors for a purpose.
package struct TooFewDescriptors: Error, CustomStringConvertible {
    let purpose: String
    let needed: Int
    let free: Int
    let limit: Int

    package var description: String {
        "\(purpose) needs \(needed) free file descriptors and this process has \(free): close files, or raise its limit of \(limit) "
            + "(ulimit -n)"
    }
}
