internal import FetchIndexLMDB

extension StoreWriter {
    /// Deletes commits from the log, whole and oldest first, up to and including `commit`. If `bytes` isn't 0, stops
    /// once the log has at most this number of bytes. Caches that are older than the remaining log can't catch up.
    package func trimLog(through commit: UInt64, keeping bytes: UInt64 = 0) throws {
        guard commit > state.logStart else { return }
        var freed: UInt64 = 0
        var last = min(commit, state.commit)
        let first = StoreLayout.logKey(commit: 0, part: 0)
        try view.walk(tables.log, from: first.span.bytes) { cursor in
            guard let key = LogKey(cursor.key), key.commit <= commit else { return false }
            if key.part == 0, bytes > 0, state.logBytes - min(freed, state.logBytes) <= bytes {
                last = key.commit - min(1, key.commit)
                return false
            }
            freed += UInt64(cursor.value.byteCount)
            try cursor.deleteCurrent()
            return true
        }
        state.logStart = max(state.logStart, last)
        // An empty log has no bytes, even if damage changed the stored size of the log.
        state.logBytes = state.logStart == state.commit ? 0 : state.logBytes - min(freed, state.logBytes)
        isStateChanged = true
    }

    package func setLogLimit(_ bytes: UInt64) {
        state.logLimit = bytes
        isStateChanged = true
    }

    /// Trims a log that exceeds its limit to at most 7/8 of the limit, even if caches need the deleted commits.
    /// Trimming a little at each commit would cost more.
    func enforceLogLimit() throws {
        // Nearly all logs are shorter than the least limit, so that the other one needn't be computed.
        guard state.logBytes > state.logLimit else { return }
        // The records before the transaction count, too: it may have deleted them.
        let limit = max(try logLimit(), (try? store.snapshot().logLimit()) ?? 0)
        if state.logBytes > limit { try trimLog(through: state.commit, keeping: limit / 8 * 7) }
    }
}
