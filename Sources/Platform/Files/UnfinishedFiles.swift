internal import FetchIndexCLibrary
internal import Synchronization

/// The paths of up to 16 `NewFile`s that this process is writing. After the program has called `areRemoved(by:)`, the
/// signals that it named there remove these files before they end the program. The paths are global, because a signal
/// handler gets only the signal's number.
package enum UnfinishedFiles {
    /// The index of a registered path.
    struct Place {
        fileprivate let index: Int
    }

    private static let most = 16
    private static let lock = Mutex(())
    /// The registered paths, which the signal handler reads. The texts are never freed, since the handler may be
    /// reading one on another thread; a program writes few files.
    nonisolated(unsafe) private static let paths = {
        let paths = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: most)
        paths.initialize(repeating: nil, count: most)
        return paths
    }()
    private static let isAsked = Atomic(false)
    private static let signals = Mutex<[CInt]>([])

    /// Lets these signals remove unfinished files before they end the program. Signals that the program ignores or
    /// handles itself keep their actions.
    package static func areRemoved(by numbers: [CInt]) {
        _ = paths[0]
        signals.withLock { $0 = numbers }
        isAsked.store(true, ordering: .sequentiallyConsistent)
        for number in numbers where Signals.isDefault(number) {
            signal(number) { number in
                for index in 0..<UnfinishedFiles.most {
                    if let path = UnfinishedFiles.paths[index] { unlink(path) }
                }
                // When the handler returns, the raised signal ends the program.
                signal(number, SIG_DFL)
                raise(number)
            }
        }
    }

    /// Blocks the signals of `areRemoved(by:)` on this thread. Returns the thread's previous mask; nil if the signals
    /// weren't blocked, for example because `areRemoved(by:)` wasn't called.
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

    /// Registers the path of an unfinished file. Returns nil if `areRemoved(by:)` wasn't called, or if `most` paths are
    /// registered.
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
