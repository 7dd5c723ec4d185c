internal import FetchIndexPlatform
internal import FetchIndexModels
package import FetchIndexRecords

/// Orders that every writer keeps in its own transaction: they are current in every state of the store.
extension CacheEngine {
    /// Brings kept orders to the commit of a sealed writer, in its transaction. One that is damaged, or too far behind, is built
    /// from all records. One that cannot be built, because records are damaged, is deleted: damaged records must not stop other
    /// saves; and it is not built again here, because each save would try. O(k log n) for k changes.
    package func keep(_ caches: [CacheRequest], in writer: StoreWriter, known: KnownChanges? = nil) throws {
        if caches.isEmpty { return }
        for cache in caches {
            switch try assess(cache, in: writer) {
            case .unusable(let reason)
            where !reason.isOfState && reason != .formatChanged && !cache.name.hasPrefix(CacheDirectory.indexPrefix):
                // The name belongs to another request now.
                break
            case let assessment:
                // The cache advances without its reader.
                if !cache.name.hasPrefix(CacheDirectory.indexPrefix) {
                    try CacheDirectory.noteRead(of: cache.name, in: writer)
                }
                try keep(cache, assessment, in: writer, known)
            }
        }
        try CacheDirectory.trimLog(in: writer)
    }

    /// Brings orders to the commit of a sealed writer, whether or not they are there yet. Throws when records are damaged.
    package func establish(_ caches: [CacheRequest], in writer: StoreWriter) throws {
        for cache in caches { _ = try bring(cache, assess(cache, in: writer), to: .cache(writer)) }
    }

    private func keep(
        _ cache: CacheRequest, _ assessment: Assessment, in writer: StoreWriter, _ known: KnownChanges?
    ) throws {
        var cache = cache
        // Of a header that cannot be read, it is not known what its reader has had.
        cache.notesRebuilds = true
        do {
            switch assessment {
            case .behind(let header):
                do { try update(header, cache.order, in: writer, known) } catch is TooManyDependents {
                    _ = try bring(cache, .unusable(.tooManyChanges), to: .cache(writer))
                }
            // Also a current one takes the newest commit: else the log could be cut below it.
            case .current, .unusable: _ = try bring(cache, assessment, to: .cache(writer))
            }
        } catch  where error.isDamage {
            do { _ = try bring(cache, .unusable(.damaged), to: .cache(writer)) } catch  where error.isDamage {
                _ = try directory.delete(cache.name, in: writer)
            }
        }
    }

    /// Catches up without saying what changed.
    private func update(
        _ old: CacheHeader, _ request: OrderRequest, in writer: StoreWriter, _ known: KnownChanges?
    ) throws {
        let builder = request.builder
        let changes = try recordChanges(since: old, of: builder.dependencies, in: writer, known)
        let limit = try Self.mostCaughtUp(of: builder.entities, in: writer)
        let edits = try builder.edits(
            changes, states(before: changes, builder, in: writer), dependentLimit: limit
        ).moved
        var header = old
        header.commit = writer.commit
        if !edits.isEmpty {
            let nodes = LMDBNodeStore(old, writingIn: writer)
            var next = ForkedOrder(over: try old.order(of: request, in: nodes))
            try next.update(edits)
            header.take(try next.publish(to: nodes), commit: writer.commit, time: currentTime())
            header.catchUps &+= 1
        }
        try CacheDirectory.put(header, in: writer)
    }
}
