internal import Synchronization

/// The files that are being written, of a program that asks for it: a signal that ends it removes them. It is the program's state as the
/// signal's handler is: a handler gets nothing but the signal's number.
package enum UnfinishedFiles {
    /// Where a path is noted.
    struct Place {
        fileprivate let index: Int
    }

    private static let most = 16
    private static let lock = Mutex(())
    /// Read by the handler. Paths are never freed, since it may read one on another thread: a program writes few files.
    nonisolated(unsafe) private static let paths = {
        let paths = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: most)
        paths.initialize(repeating: nil, count: most)
        return paths
    }()
    private static let isAsked = Atomic(false)
    private static let signals = Mutex<[CInt]>([])

    /// From now on these signals remove unfinished files before they end the program, unless it ignores or handles them already.
    package static func areRemoved(by numbers: [CInt]) {
        _ = paths[0]
        signals.withLock { $0 = numbers }
        isAsked.store(true, ordering: .sequentiallyConsistent)
        for number in numbers where Signals.isDefault(number) {
            signal(number) { number in
                for index in 0..<UnfinishedFiles.most {
                    if let path = UnfinishedFiles.paths[index] { unlink(path) }
                }
                // It ends the program when this returns.
                signal(number, SIG_DFL)
                raise(number)
            }
        }
    }

    /// Lets the signals wait on this thread. Returns those that waited before; nil unless the program asks for it.
    static func holdSignals() -> sigset_t? {
        guard isAsked.load(ordering: .sequentiallyConsistent) else { return nil }
        var added = sigset_t()
        var before = sigset_t()
        sigemptyset(&added)
        for number in signals.withLock({ $0 }) { sigaddset(&added, number) }
        return pthread_sigmask(SIG_BLOCK, &added, &before) == 0 ? before : nil
    }

    static func release(_ held: sigset_t?) {
        if var held { pthread_sigmask(SIG_SETMASK, &held, nil) }
    }

    /// Nil unless the program asks for it.
    static func add(_ path: String) -> Place? {
        guard isAsked.load(ordering: .sequentiallyConsistent) else { return nil }
        return lock.withLock { _ in
            guard let index = (0..<most).first(where: { paths[$0] == nil }) else { return nil }
            paths[index] = strdup(path)
            return Place(index: index)
        }
    }

    static func remove(_ place: Place) { lock.withLock { _ in paths[place.index] = nil } }
}
