internal import FetchIndexPlatform
internal import FetchIndexModels
package import FetchIndexRecords

/// Opens caches in a writer's transaction, so that they are current in the state that it commits.
extension CacheEngine {
    /// The purpose for which a writer opens caches.
    package enum Purpose {
        /// The caches aren't changed, because the transaction won't be committed. A cache also counts as unusable if
        /// computing its order probably costs less than catching up.
        case previewing
        /// The caches are those of live orders, which need the changes. A cache is rebuilt only if it's damaged or too
        /// far behind (`RebuildReason.isOfState`). A missing cache isn't created, and a cache that is unusable for
        /// another reason isn't changed.
        case following
        /// Like `following`, but the caches' readers have received the state of this commit, which may be older than
        /// the writer's.
        case received(UInt64)
        /// The caches are maintained, and are to be current in every state. An index is also built if it's missing, or
        /// was built for another request or model; other maintained caches aren't.
        case keeping
        /// The caches must exist afterwards, whatever their state was. Errors of damaged records are thrown.
        case establishing

        /// Whether the cache stays as it is, instead of being rebuilt, if it's unusable for this reason.
        func leaves(_ cache: CacheRequest, _ reason: RebuildReason) -> Bool {
            switch self {
            case .previewing: true
            case .following, .received: !reason.isOfState
            case .keeping:
                !reason.isOfState && reason != .formatChanged && !CacheDirectory.isIndex(cache.name)
            case .establishing: false
            }
        }
    }

    /// Catches caches up to the commit of a sealed writer, in its transaction. A cache that is damaged or too far
    /// behind is rebuilt from all records. If that fails because records are damaged, the cache is deleted, so that
    /// damaged records don't prevent other saves. Later saves don't build it again, since each attempt would fail; only
    /// indexes are tried again with each save. If the purpose is `establishing`, the error is thrown instead.
    ///
    /// Caches that are caught up have the outcome `pending`, unless the purpose is `following`. O(k log n) for k
    /// changes; O(n log n) for a cache that is rebuilt.
    @discardableResult
    package func open(
        _ caches: [CacheRequest], in writer: StoreWriter, for purpose: Purpose, known: KnownChanges? = nil
    ) throws -> [String: CacheAttempt<OpenedOrder>] {
        var opened: [String: CacheAttempt<OpenedOrder>] = [:]
        for cache in caches { opened[cache.name] = try attempt(cache, in: writer, for: purpose, known) }
        if !caches.isEmpty { try CacheDirectory.trimLog(in: writer) }
        return opened
    }

    /// Opens a cache like `open` for several. An assessment of the cache in the writer's state can be given.
    @discardableResult
    package func open(
        _ cache: CacheRequest, _ assessment: CacheAssessment? = nil, in writer: StoreWriter, for purpose: Purpose
    ) throws -> CacheAttempt<OpenedOrder> {
        let opened = try attempt(cache, assessment, in: writer, for: purpose)
        // A preview still reads the log.
        if case .previewing = purpose { return opened }
        try CacheDirectory.trimLog(in: writer)
        return opened
    }

    /// Opens a cache for a purpose. Doesn't trim the log.
    func attempt(
        _ cache: CacheRequest, _ assessment: CacheAssessment? = nil, in writer: StoreWriter, for purpose: Purpose,
        _ known: KnownChanges? = nil
    ) throws -> CacheAttempt<OpenedOrder> {
        let assessment = try assessment ?? assess(cache, in: writer)
        if let reason = assessment.unusable, purpose.leaves(cache, reason) { return .unusable(reason) }
        switch purpose {
        case .previewing: return try findUnstored(cache, assessment, in: writer, wantsChange: false)
        case .establishing: return .opened(try placed(cache, assessment, in: writer))
        case .following, .received, .keeping:
            let opened = try deletingIfDamaged(cache, in: writer) {
                try placed(cache, assessment, in: writer, for: purpose, known)
            }
            return opened.map { .opened($0) } ?? .unusable(.damaged)
        }
    }

    /// Opens an assessed cache, and stores or rebuilds its order. If this throws, only some of the cache's nodes may
    /// have been changed: the caller must delete the cache or abort the writer.
    func placed(
        _ cache: CacheRequest, _ assessment: CacheAssessment, in writer: StoreWriter,
        for purpose: Purpose = .establishing, _ known: KnownChanges? = nil
    ) throws -> OpenedOrder {
        var cache = cache
        var wantsChange = false
        if case .following = purpose { wantsChange = true }
        if case .keeping = purpose {
            // A maintained cache catches up without its exact reader, so the state that the reader has received is
            // noted first.
            if !CacheDirectory.isIndex(cache.name) { try CacheDirectory.noteRead(of: cache.name, in: writer) }
            // If the header can't be read, the state that the exact reader has received is unknown, so a rebuild is
            // noted as unread.
            cache.rebuildNote = .rebuild
        }
        let opened: OpenedOrder
        switch try find(cache, assessment, in: writer, known: known, wantsChange: wantsChange) {
        case .opened(let found): opened = try store(found, in: writer, at: writer.commit)
        case .unusable(let reason): opened = try rebuild(cache, reason, in: writer)
        }
        if case .received(let commit) = purpose, cache.needsExactChange {
            try CacheDirectory.setRead(upTo: commit, cache.name, in: writer)
        }
        return opened
    }

    /// Runs the body, which stores or rebuilds a cache. If damage is found, deletes the cache, so that records can be
    /// saved, and returns nil.
    func deletingIfDamaged<Result>(
        _ cache: CacheRequest, in writer: StoreWriter, _ body: () throws -> Result?
    ) throws -> Result? {
        do { return try body() } catch  where error.isDamage {
            _ = try directory.delete(cache.name, in: writer)
            return nil
        }
    }

    /// Stores an opened order in its cache, as of a commit. If the order has no edits, only raises the cache's commit,
    /// so that the cache no longer needs the log before it. `newest` is the cache's header, if its commit was raised
    /// since the order was opened.
    func store(
        _ opened: OpenedOrder, over newest: CacheHeader? = nil, in writer: StoreWriter, at commit: UInt64
    ) throws -> OpenedOrder {
        guard let old = newest ?? opened.place.header else { return opened }
        var header = old
        if case .fork(_, let edited?) = opened.place {
            let order = try edited.publish(to: LMDBNodeStore(old, writingIn: writer))
            header.take(order, commit: commit, time: currentTime())
            header.catchUps &+= 1
        }
        header.commit = commit
        if opened.isFork || commit != old.commit { try CacheDirectory.put(header, in: writer) }
        return opened.stored(header, in: writer)
    }

    /// Builds a cache from all records, in a writer's transaction. O(n log n).
    func rebuild(_ cache: CacheRequest, _ reason: RebuildReason, in writer: StoreWriter) throws -> OpenedOrder {
        let number = try deleteNodes(replacedBy: cache, in: writer) ?? CacheDirectory.newNumber(in: writer)
        var header = CacheHeader(replacing: cache, number: number, in: writer)
        let order = try cache.order.builder.build(from: writer, in: LMDBNodeStore(header, writingIn: writer))
        header.take(order, commit: writer.commit, time: currentTime())
        try CacheDirectory.put(header, in: writer)
        try noteRebuild(header, of: cache, reason, in: writer)
        return OpenedOrder(order, .rebuilt(reason), in: .stored(header))
    }

    /// Deletes the nodes of the cache that a request replaces, and returns its number; nil if it's missing. Throws
    /// `CacheError.locked` if the request mustn't replace it.
    func deleteNodes(replacedBy cache: CacheRequest, in writer: StoreWriter) throws -> UInt32? {
        try CacheDirectory.requireReplaceable(cache, in: writer)
        let number = try CacheDirectory.number(of: cache.name, in: writer)
        if let number { try LMDBNodeStore.deleteNodes(of: number, in: writer) }
        return number
    }

    /// Records what the exact reader of a cache hasn't received because of a rebuild, as the request's `rebuildNote`
    /// says. Does nothing for indexes, which have no exact readers.
    func noteRebuild(
        _ header: CacheHeader, of cache: CacheRequest, _ reason: RebuildReason, in writer: StoreWriter
    ) throws {
        if CacheDirectory.isIndex(cache.name) { return }
        var note = UnreadNote(header, reason)
        if case .changes(let commit) = cache.rebuildNote {
            note = UnreadNote(number: header.number, commit: commit, reason: nil)
        } else if let known = try CacheDirectory.unread(of: cache.name, in: writer) {
            // The log still leads from what the reader has received to the rebuilt order.
            if reason == .tooManyChanges && known.reason == nil {
                note = UnreadNote(
                    number: known.keepsLog ? header.number : 0, commit: known.commit, reason: nil)
            }
        } else if case .none = cache.rebuildNote {
            return
        }
        try CacheDirectory.setUnread(note, cache.name, in: writer)
    }
}
