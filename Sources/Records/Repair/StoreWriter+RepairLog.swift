internal import FetchIndexPlatform
internal import FetchIndexLMDB

extension StoreWriter {
    /// Deletes entries of the log that belong to no commit, and the commits up to and including the last one with
    /// damaged or missing entries. Corrects the log's stored start and size. Caches that are older than the remaining
    /// log can't catch up. O(bytes of the log).
    func repairLog() throws -> [String] {
        var done: [String] = []
        if state.logStart > state.commit {
            state.logStart = state.commit
            isStateChanged = true
            done.append("the log's start was after the newest commit: set to the newest commit")
        }
        let strays = try removeStrayLogEntries()
        if strays > 0 {
            done.append("\(counted(strays, "entry", "entries")) of the log belonged to no commit: deleted")
        }
        if let last = lastDamagedCommit() {
            try trimLog(through: last)
            done.append("the log was damaged: trimmed up to commit \(last)")
        }
        let bytes = try countLogBytes()
        if bytes != state.logBytes {
            if done.isEmpty {
                done.append("the log's stored size was \(counted(state.logBytes, "byte")): set to \(bytes)")
            }
            state.logBytes = bytes
            isStateChanged = true
        }
        return done
    }

    /// Removes entries of the log table that belong to commits outside of the log.
    private func removeStrayLogEntries() throws -> Int {
        var strays = 0
        try view.forEachEntry(in: tables.log) { cursor in
            let commit = LogKey(cursor.key)?.commit ?? 0
            if commit <= state.logStart || commit > state.commit {
                try cursor.deleteCurrent()
                strays += 1
            }
        }
        return strays
    }

    private func lastDamagedCommit() -> UInt64? {
        var commit = state.commit
        while commit > state.logStart {
            do { try forEachLogEntry(of: nil, after: commit - 1, through: commit) { _, _ in } } catch {
                return commit
            }
            commit -= 1
        }
        return nil
    }

    private func countLogBytes() throws -> UInt64 {
        var bytes: UInt64 = 0
        try view.forEachEntry(in: tables.log) { cursor in
            bytes += UInt64(cursor.value.byteCount)
        }
        return bytes
    }
}
