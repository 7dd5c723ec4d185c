internal import FetchIndex
internal import FetchIndexCLibrary
internal import FetchIndexPlatform
internal import Synchronization

/// Follows all sources of a store, each with a follower on a thread of its own. They share the store's lock, the rows
/// that wait for others, and the changes of the model. A transaction of a source is a commit of the store; nothing orders
/// the transactions of different sources.
///
/// If a source can't be followed, the others go on, and it is tried again from time to time. Following ends when no
/// source can be followed.
package final class Followers {
    private let path: String
    private let options: FollowOptions
    private let isInterrupted: () -> Bool
    private let report: (_ source: String, FollowEvent) -> Void
    private let group: FollowerGroup
    /// The names of the sources.
    package let names: [String]
    /// The follower of the source that the options are for, until it runs.
    private let prepared: Mutex<Prepared?>

    /// The sources whose tables are copied again, as the options ask. A further attempt doesn't begin that anew.
    private let copiedAgain = Mutex<Set<String>>([])

    private struct Prepared: @unchecked Sendable {
        /// It isn't used by two threads at the same time.
        let follower: Follower
    }

    /// Why a source isn't followed, or only in part.
    private enum Failure {
        case other
        /// Rows can't be stored.
        case incomplete
        /// Rows wait for keys that other sources have.
        case held

        init(_ error: any Error) {
            let error = error as? SourceError
            self = error?.kind != .incomplete ? .other : error?.remedy == .deleteInOneSource ? .held : .incomplete
        }
    }

    /// Prepares the source that the options are for, which may be a new one, and finds the store's other sources. `report`
    /// is called on the followers' threads. Throws like `Follower`.
    package init(
        storeAt path: String, _ options: FollowOptions, isInterrupted: @escaping () -> Bool = { false },
        report: @escaping (_ source: String, FollowEvent) -> Void
    ) throws {
        (self.path, self.options, self.isInterrupted, self.report) = (path, options, isInterrupted, report)
        let isStored = PersistentContainer.hasStore(at: path)
        // If the store can't be opened, making a follower throws the reason.
        let container = isStored ? try? PersistentContainer(storeAt: path) : nil
        let stored = try container?.followedSources(as: FollowedSource.self).map(\.name) ?? []
        let isForOne = options.isForOneSource || stored.count <= 1
        let named = isForOne || options.name != nil ? try FollowPreparation.name(options.name, in: container) : nil
        names = Set(stored + [named].compactMap { $0 }).sorted()
        let group = FollowerGroup(isShared: names.count > 1)
        self.group = group
        if isStored { try group.lock(path) }
        guard let named, isForOne || !stored.contains(named) else {
            prepared = Mutex(nil)
            return
        }
        var own = options
        own.name = named
        let follower = try Follower(storeAt: path, own, in: group, isInterrupted: isInterrupted) { report(named, $0) }
        prepared = Mutex(Prepared(follower: follower))
    }

    /// Follows the sources until it is interrupted or, if `endsWhenCurrent` is set, until the store has caught up with
    /// each. Throws the error of the only source, and an error that names the sources that can't be followed.
    package func run() throws {
        if names.count == 1, let only = prepared.withLock({ $0.take() }) { return try only.follower.run() }
        let failures = Mutex<[String: Failure]>([:])
        try follow(names, failures)
        try takeFreedRows(failures)
        if isInterrupted() { return }
        let failed = failures.withLock { $0 }
        if failed.isEmpty { return }
        let isAway = failed.values.contains(.other)
        throw SourceError(
            isAway ? .refused : .incomplete,
            (isAway ? "\(failed.count) of \(names.count) sources cannot be followed: " : "rows are left out of: ")
                + failed.keys.sorted().joined(separator: ", "))
    }

    private func follow(_ names: [String], _ failures: borrowing Mutex<[String: Failure]>) throws {
        try Threads.run(names.count) { index in follow(names[index], failures) }
    }

    /// Follows sources once more whose rows were left out because of keys that other sources had: these may have given
    /// them up since.
    private func takeFreedRows(_ failures: borrowing Mutex<[String: Failure]>) throws {
        guard options.endsWhenCurrent else { return }
        var last = Int.max
        while !isInterrupted() {
            let waiting = failures.withLock { failures in names.filter { failures[$0] == .held } }
            if waiting.isEmpty { return }
            // Each round takes all rows whose keys are free. Rows may follow one another through several sources.
            let sources = try PersistentContainer(storeAt: path).followedSources(as: FollowedSource.self)
            let tables = sources.flatMap(\.tables)
            let count = tables.reduce(waiting.count) { $0 + $1.omittedRows.values.filter { $0.isHeld == true }.count }
            if count >= last { return }
            last = count
            failures.withLock { failures in for name in waiting { failures[name] = nil } }
            try follow(waiting, failures)
        }
    }

    private func follow(_ name: String, _ failures: borrowing Mutex<[String: Failure]>) {
        var follower = prepared.withLock { prepared in
            prepared?.follower.name == name ? prepared.take()?.follower : nil
        }
        while true {
            do {
                let current = try follower ?? makeFollower(name)
                follower = nil
                defer { if current.hasCopiedAgain { copiedAgain.withLock { _ = $0.insert(name) } } }
                return try current.run()
            } catch is Interrupted {
                return
            } catch {
                report(name, .failed(error))
                let failedCount = failures.withLock { failures in
                    failures[name] = Failure(error)
                    return failures.count
                }
                if options.endsWhenCurrent || failedCount == names.count { return }
            }
            if !waits(failures) { return }
            failures.withLock { _ = $0.removeValue(forKey: name) }
        }
    }

    private func makeFollower(_ name: String) throws -> Follower {
        var own = name == options.name ? options : options.forOtherSources
        own.name = name
        if copiedAgain.withLock({ $0.contains(name) }) { own.recopies = false }
        return try Follower(storeAt: path, own, in: group, isInterrupted: isInterrupted) { self.report(name, $0) }
    }

    /// Waits before a source is tried again. Returns false if no source is followed any more, or after an interruption.
    private func waits(_ failures: borrowing Mutex<[String: Failure]>) -> Bool {
        let end = ContinuousClock.now + .seconds(options.retrySeconds)
        while ContinuousClock.now < end {
            if isInterrupted() || failures.withLock({ $0.count }) == names.count { return false }
            usleep(100_000)
        }
        return true
    }
}

extension FollowOptions {
    /// Whether the options change what a source is followed for, so that they must be for one source.
    fileprivate var isForOneSource: Bool {
        address != nil || !tables.isEmpty || !droppedTables.isEmpty || !unstorable.isEmpty || usesChangeTable
            || slot != nil || publication != nil
    }

    /// The options for sources that they don't name.
    fileprivate var forOtherSources: FollowOptions {
        var others = FollowOptions()
        (others.caches, others.endsWhenCurrent, others.recopiesWhenLost) = (caches, endsWhenCurrent, recopiesWhenLost)
        others.recopies = name == nil && recopies
        (others.threads, others.rangeLength, others.groupLength) = (threads, rangeLength, groupLength)
        (others.stallSeconds, others.retrySeconds) = (stallSeconds, retrySeconds)
        return others
    }
}
