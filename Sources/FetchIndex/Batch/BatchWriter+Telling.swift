internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexRecords

// Commits that report the change of a cache's order to a reader. The reader may fail.
extension BatchWriter {
    /// Commits, and calls the body with the change of a cache's order. If the body throws, or the process ends while
    /// the body runs, the written objects are saved, and the next commit or opening reports the change again. A body
    /// that writes the change somewhere must make it durable before it returns.
    ///
    /// The outcome is like the outcome of ``commit(bringing:cacheName:)``. If the cache can be used, it stores the new
    /// order after the body has returned, in a second transaction. But a maintained cache is current when the body is
    /// called; until the body has returned, a note in the store says which changes its reader hasn't received. Returns
    /// false, without calling the body, if no transaction is open. O(k log n) for k changes; O(n log n) if the cache is
    /// rebuilt. Throws like ``commit(bringing:cacheName:)``, and rethrows the body's errors.
    @discardableResult
    public func commit(
        bringing definition: OrderDefinition, cacheName: String, telling body: (FetchOutcome) throws -> Void
    ) throws -> Bool {
        let isWritten = try commit(bringing: definition, cacheName: cacheName) { outcome, _ in try body(outcome) }
        try storeTold()
        return isWritten
    }

    /// Commits and calls the body like `commit(bringing:cacheName:telling:)`, but doesn't store the order in the cache:
    /// the next call of this method does that in its transaction, or `storeTold` in a transaction of its own. A cache
    /// that is damaged or too far behind is rebuilt here, after the body has returned. The body also gets the commit
    /// after which the reported changes were made; nil if the cache can't be used.
    package func commit(
        bringing definition: OrderDefinition, cacheName: String,
        deferring body: (FetchOutcome, _ start: UInt64?) throws -> Void
    ) throws -> Bool {
        try withPublicErrors {
            guard let (ended, cache) = try sealed(bringing: definition, cacheName: cacheName) else { return false }
            let model = ended.model
            let engine = container.cacheEngine
            if let told { try engine.end(told, in: ended) }
            told = nil
            try engine.keepAll(in: ended)
            let snapshot = try ended.commitAndRead()
            noteCommit()
            switch try engine.attempt(cache, in: snapshot) {
            case .opened(let reading):
                try body(
                    reading.opened.outcome.identified { container.id(of: $0, in: model) }, reading.opened.start)
                told = reading
            case .unusable(let reason):
                try body(.rebuilt(reason), nil)
                if reason.isOfState { try rebuild(cache, reason, readUpTo: snapshot.commit) }
            }
            return true
        }
    }

    /// Ends the changes of the open transaction, before it's committed with a cache. Returns it with the request of the
    /// cache; nil if no transaction is open.
    func sealed(
        bringing definition: OrderDefinition, cacheName: String
    ) throws -> (ended: StoreWriter, cache: CacheRequest)? {
        if CacheDirectory.isIndex(cacheName) { throw CacheError.invalidName(cacheName) }
        try settleUpdates()
        guard let ended = writer else { return nil }
        let request = try definition.compile(in: ended.model)
        writer = nil
        try seal(ended)
        return (ended, CacheRequest(name: cacheName, order: request, needsExactChange: true, author: author))
    }

    /// Stores the order that the cache's reader has received, if it isn't stored yet.
    package func storeTold() throws {
        guard let told else { return }
        self.told = nil
        try withPublicErrors { try container.cacheEngine.end(told, limit: writeTimeout) }
    }

    private func rebuild(_ cache: CacheRequest, _ reason: RebuildReason, readUpTo commit: UInt64) throws {
        let writer = try store.beginWrite(author: author, limit: writeTimeout, changesRecords: false)
        // Other writers may have committed after `commit`.
        try container.cacheEngine.open(cache, .unusable(reason, nil), in: writer, for: .received(commit))
        try writer.commit()
    }
}
