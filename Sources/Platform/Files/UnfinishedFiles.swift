internal import FetchIndexCLibrary
internal import Synchronization

/// The files that a program is writing, if it asks for this: a signal that ends the program removes them. They are a
/// state of the process, like the signal's handler, which gets nothing but the signal's number.
package enum UnfinishedFiles {
    /// The place where a path is noted.
    struct Place {
        fileprivate let index: Int
    }

    private static let most = 16
    private static let lock = Mutex(())
    /// The handler reads this. Paths are never freed, since the handler may read one on another thread: a program
    /// writes few files.
    nonisolated(unsafe) private static let paths = {
        let paths = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: most)
        paths.initialize(repeating: nil, count: most)
        return paths
    }()
    private static let isAsked = Atomic(false)
    private static let signals = Mutex<[CInt]>([])

    /// From now on these signals remove unfinished files before they end the program, except for signals that it
    /// ignores or handles already.
    package static func areRemoved(by numbers: [CInt]) {
        _ = paths[0]
        signals.withLock { $0 = numbers }
        isAsked.store(true, ordering: .sequentiallyConsistent)
        for number in numbers where Signals.isDefault(number) {
            signal(number) { number in
                for index in 0..<UnfinishedFiles.most {
                    if let path = UnfinishedFiles.paths[index] { unlink(path) }
                }
                // The signal ends the program when the handler returns.
                signal(number, SIG_DFL)
                raise(number)
            }
        }
    }

    /// Blocks the signals on this thread. Returns the signals that were blocked before; nil unless the program asked
    /// for it.
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

    /// Notes a path. Returns nil unless the program asked for it, or if all places are taken.
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
