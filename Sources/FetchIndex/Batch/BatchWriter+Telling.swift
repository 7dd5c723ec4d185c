internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexRecords

// Commits whose change of an order is told to a reader, who may fail.
extension BatchWriter {
    /// As `commit`, and calls the body with what that changed in the order of a cache, which takes the order when the body has
    /// returned. When the body throws, or the process ends meanwhile, what was written is saved, the cache stays as it was, and the next
    /// commit or opening has the change again: a body that writes it somewhere makes sure that it is written before it returns.
    ///
    /// The outcome is that of ``commit(bringing:cacheName:)``. A cache that every writer keeps is current before the body is called, and a
    /// note in the store says until the end what its reader has not had. False, without a call of the body, when nothing was written.
    /// O(k log n) for k changes; a commit of the cache alone follows. Throws as ``commit(bringing:cacheName:)``, and what the body throws.
    @discardableResult
    public func commit(
        bringing definition: OrderDefinition, cacheName: String, telling body: (FetchOutcome) throws -> Void
    ) throws -> Bool {
        let isWritten = try commit(bringing: definition, cacheName: cacheName) { outcome, _ in try body(outcome) }
        try storeTold()
        return isWritten
    }

    /// The same without that commit: the cache takes the order with the next transaction, or at `storeTold`. The body also gets the
    /// commit since which the order changed.
    package func commit(
        bringing definition: OrderDefinition, cacheName: String,
        deferring body: (FetchOutcome, _ start: UInt64?) throws -> Void
    ) throws -> Bool {
        try withPublicErrors {
            if CacheDirectory.isIndex(cacheName) { throw StoreError.invalidCacheName(cacheName) }
            try settleUpdates()
            guard let ended = writer else { return false }
            let model = ended.model
            writer = nil
            let request = try definition.compile(in: model)
            let cache = CacheRequest(name: cacheName, order: request, needsExactChange: true, author: author)
            try ended.seal()
            let engine = container.cacheEngine
            if let told { try engine.storeOrDelete(told, in: ended) }
            told = nil
            try engine.keepAll(in: ended)
            let snapshot = try ended.commitAndRead()
            savedCounts = counts
            switch try engine.attempt(cache, in: snapshot) {
            case .opened(let reading):
                try body(
                    FetchOutcome(reading.opened.outcome) { container.id(of: $0, in: model) }, reading.opened.start)
                told = reading
            case .unusable(let reason):
                try body(.rebuilt(reason), nil)
                if reason.isOfState { try rebuild(cache, reason, readUpTo: snapshot.commit) }
            }
            return true
        }
    }

    /// Lets the cache take what was told.
    package func storeTold() throws {
        guard let told else { return }
        self.told = nil
        try withPublicErrors { try container.cacheEngine.end(told, limit: writeTimeout) }
    }

    private func rebuild(_ cache: CacheRequest, _ reason: RebuildReason, readUpTo commit: UInt64) throws {
        let writer = try store.beginWrite(author: author, limit: writeTimeout, changesRecords: false)
        // Others may have written since.
        try container.cacheEngine.rebuildOrDelete(cache, reason, readUpTo: commit, in: writer)
        try writer.commit()
    }
}
