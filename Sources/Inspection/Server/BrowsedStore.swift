internal import FetchIndex
internal import FetchIndexInspection
internal import FetchIndexInspectionReport
internal import FetchIndexPlatform

/// The store that the live page shows. It's opened again after it was moved. Its changes are sent to listeners (open
/// event streams).
///
///     poll, every second ──> summaries of all caches ──> "caches", "store", "problem" ──┐
///                                                                                       ├──> listeners
///     commits ──follow──> CacheView.advance ──────────> "rows" of one cache ────────────┘
actor BrowsedStore {
    private static let pollInterval = Duration.seconds(1)
    private static let keepAliveInterval = Duration.seconds(10)
    /// A view without listeners is closed if it hasn't been used for this time.
    private static let idleTime = Duration.seconds(2)
    /// A listener's stream is ended if more than this many events wait in it. The page then connects again and receives
    /// the whole state.
    private static let mostWaitingEvents = 256
    /// If advancing a view took longer than `longAdvance`, the task that follows it pauses for `restFactor` times as
    /// long.
    private static let (longAdvance, restFactor) = (Duration.milliseconds(20), 4)

    private struct Listener {
        let cache: String?
        let continuation: AsyncStream<ServerEvent>.Continuation
    }

    private struct Viewed {
        let view: CacheView
        var lastUse = ContinuousClock.now
        var follower: Task<Void, Never>?
    }

    private let path: String
    nonisolated let reports = Reports()
    /// Computes the summaries on a queue of its own, so that they don't wait for pages and cards.
    private let summarizer = Reports()
    private var container: PersistentContainer?
    private var problem: String?
    /// The summaries that were last sent to the listeners; nil if all must be sent again.
    private var summaries: [CacheSummary]?
    private var lastCommit: UInt64?
    private var views: [String: Viewed] = [:]
    private var listeners: [Int: Listener] = [:]
    private var nextListener = 0

    /// Opens the store. Throws `StoreError` if it cannot be opened.
    init(at path: String) throws {
        self.path = path
        container = try Self.open(path)
    }

    private static func open(_ path: String) throws -> PersistentContainer {
        try PersistentContainer(storeAt: path, isReadOnly: true, remembersOpenings: false)
    }

    // MARK: For requests

    /// Returns the store, opened if necessary. Throws `StoreError` if it cannot be opened.
    func current() throws -> PersistentContainer {
        if let container { return container }
        let opened = try Self.open(path)
        container = opened
        return opened
    }

    func view(of cache: String) throws -> CacheView {
        let container = try current()
        var viewed = views[cache] ?? Viewed(view: CacheView(cache, in: container))
        viewed.lastUse = .now
        views[cache] = viewed
        // A view is followed even without listeners: a view that doesn't advance would pin pages that other processes
        // free.
        follow(viewed.view)
        return viewed.view
    }

    /// Returns a stream of the store's events and, if a cache is given, of the events of its rows.
    func events(ofCache cache: String?) async -> AsyncStream<ServerEvent> {
        // The summaries are discarded while no one listens, so they are computed here.
        if summaries == nil, let container { summaries = try? await summarizer.summaries(of: container) }
        let (stream, continuation) = AsyncStream.makeStream(
            of: ServerEvent.self, bufferingPolicy: .bufferingOldest(Self.mostWaitingEvents))
        let number = nextListener
        nextListener += 1
        listeners[number] = Listener(cache: cache, continuation: continuation)
        continuation.onTermination = { [weak self] _ in
            guard let self else { return }
            Task { await self.remove(number) }
        }
        send("problem", ProblemEvent(sentence: problem), to: continuation)
        if let summaries { send("caches", CachesEvent(summaries, isWhole: true), to: continuation) }
        if let cache { _ = try? view(of: cache) }
        return stream
    }

    private func remove(_ number: Int) { listeners[number] = nil }

    // MARK: Following

    /// Follows the store until the task is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.repeatedly(every: Self.pollInterval) { await $0.poll() } }
            group.addTask { await self.repeatedly(every: Self.keepAliveInterval) { await $0.keepAlive() } }
        }
        close()
        for listener in listeners.values { listener.continuation.finish() }
    }

    private nonisolated func repeatedly(every pause: Duration, _ body: (BrowsedStore) async -> Void) async {
        while !Task.isCancelled {
            await body(self)
            try? await Task.sleep(for: pause)
        }
    }

    private func keepAlive() {
        for listener in listeners.values { send(.keepAlive, to: listener.continuation) }
    }

    /// Checks whether the store is still in its place. If there are listeners, reads the state of its caches, and sends
    /// the changes to the listeners.
    private func poll() async {
        do {
            let container = try current()
            try container.requireInPlace()
            let commit = try container.newestCommit()
            setProblem(nil)
            if listeners.isEmpty {
                summaries = nil
            } else {
                update(try await summarizer.summaries(of: container), commit)
            }
        } catch {
            // The path may have another store when it is opened again.
            if case StoreError.moved = error { close() }
            setProblem("\(error)".visible)
        }
        for (name, viewed) in views where viewed.lastUse.duration(to: .now) > Self.idleTime {
            if !listeners.values.contains(where: { $0.cache == name }) { drop(name) }
        }
    }

    private func update(_ new: [CacheSummary], _ commit: UInt64) {
        let known = summaries ?? []
        let old = Dictionary(known.map { ($0.name, $0) }) { first, _ in first }
        let changed = new.filter { old[$0.name] != $0 }
        let names = Set(new.map(\.name))
        let removed = known.map(\.name).filter { !names.contains($0) }
        let isChange = summaries == nil || !changed.isEmpty || !removed.isEmpty
        if isChange { broadcast("caches", CachesEvent(changed, removed: removed, isWhole: summaries == nil)) }
        summaries = new
        if isChange || commit != lastCommit { broadcast("store", StoreEvent()) }
        lastCommit = commit
        // A cache can be rebuilt for another request, or deleted, without a commit. The tasks that follow the views
        // don't notice that.
        for name in changed.map(\.name) + removed {
            if let view = views[name]?.view { Task { await advance(view) } }
        }
    }

    private func setProblem(_ sentence: String?) {
        if sentence == problem { return }
        problem = sentence
        broadcast("problem", ProblemEvent(sentence: sentence))
        if sentence == nil { beginAnew() }
    }

    /// Opens the views that have listeners, and tells these listeners to read everything again.
    private func beginAnew() {
        for name in Set(listeners.values.compactMap(\.cache)) {
            _ = try? view(of: name)
            broadcast("rows", RowsEvent(cache: name, isReset: true), ofCache: name)
        }
    }

    private func close() {
        for name in Array(views.keys) { drop(name) }
        container = nil
        summaries = nil
    }

    private func drop(_ name: String) {
        views[name]?.follower?.cancel()
        views[name] = nil
        // The order may have been caught up in memory, and so may have been large.
        Memory.giveBack()
    }

    /// Starts a task that advances the view after commits and sends its changes to the listeners, unless one runs.
    private func follow(_ view: CacheView) {
        guard let container, views[view.name]?.follower == nil else { return }
        views[view.name]?.follower = Task { [commits = container.commits] in
            for await _ in commits {
                let start = ContinuousClock.now
                await advance(view)
                // Advancing can become slower with each commit until a process saves the caught-up cache.
                let time = ContinuousClock.now - start
                if time > Self.longAdvance { try? await Task.sleep(for: time * Self.restFactor) }
            }
            // The sequence of commits ended, because the store was moved. The store may be back before `poll` notices.
            if !Task.isCancelled, views[view.name]?.view === view {
                drop(view.name)
                if problem == nil { beginAnew() }
            }
        }
    }

    private func advance(_ view: CacheView) async {
        let event: RowsEvent?
        // After a reset, the page asks for the rows again, and gets the reason as the answer.
        do { event = try await view.advance() } catch { event = RowsEvent(cache: view.name, isReset: true) }
        if let event, views[view.name]?.view === view { broadcast("rows", event, ofCache: view.name) }
    }

    // MARK: Sending events

    private func broadcast(_ name: String, _ message: some Encodable & Sendable, ofCache cache: String? = nil) {
        for listener in listeners.values where cache == nil || listener.cache == cache {
            send(name, message, to: listener.continuation)
        }
    }

    private func send(
        _ name: String, _ message: some Encodable & Sendable, to continuation: AsyncStream<ServerEvent>.Continuation
    ) {
        guard let event = try? ServerEvent(name, message) else { return }
        send(event, to: continuation)
    }

    private func send(_ event: ServerEvent, to continuation: AsyncStream<ServerEvent>.Continuation) {
        if case .dropped = continuation.yield(event) { continuation.finish() }
    }
}

extension CachesEvent {
    init(_ summaries: [CacheSummary], removed: [String] = [], isWhole: Bool = false) {
        self.init(
            caches: summaries.map {
                Cache(name: $0.name, shownName: $0.shownName, state: $0.state, style: $0.style)
            }, removed: removed, isWhole: isWhole)
    }
}
