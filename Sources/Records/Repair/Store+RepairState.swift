package import FetchIndexLMDB

extension Store {
    /// Replaces a store's state if it's damaged or missing, so that the store can be opened. The new state's commit is
    /// greater than those found in the log, the bookmarks and the caches; `newest` returns the greatest commit of the
    /// caches. The log is emptied. Returns a sentence about the repair; nil if the state is intact. O(entries of the
    /// log), without `newest`.
    package static func repairState(
        at path: String, newest: (TransactionView, StoreTables) throws -> UInt64
    ) throws -> String? {
        try requireFile(at: path)
        let environment: Environment
        let tables: StoreTables
        do {
            var options = Options()
            options.creates = false
            options.ignoresPageChecksums = true
            environment = try openEnvironment(at: path, options)
            tables = try StoreTables(environment, creating: false, ignoringChecksums: true)
        } catch {
            throw explain(error, at: path)
        }
        let transaction = try environment.beginWrite()
        let view = transaction.view
        try checkFormat(in: view, tables, path: environment.path)
        let key = StoreLayout.stateKey
        var isWhole = false
        _ = try view.get(key, in: tables.meta) { isWhole = (try? StoreState(decoding: $0)) != nil }
        if isWhole { return nil }
        var state = StoreState()
        let marked = (try? StoredBookmark.all(in: view, tables))?.values.map(\.commit).max() ?? 0
        let known = try min(max(newest(view, tables), marked), StoreState.greatest - 1)
        state.commit = try max(known, clearLog(view, tables)) + 1
        state.logStart = state.commit
        // Processes that have the store open cache models by their version, so the version must be a new one.
        state.modelVersion = UInt32(truncatingIfNeeded: UInt64(currentTime() * 1000)) | 1 << 31
        let entries = [(key, state.encoded(writtenBy: view)), (StoreLayout.formatKey, StoreLayout.encodedVersion)]
        for (key, value) in entries { try view.put(value, for: key, in: tables.meta) }
        try transaction.commit()
        return "the store's state was damaged: recreated at commit \(state.commit), with an empty log"
    }

    /// Empties the log. Returns the number of the last commit that it had; 0 if it was empty.
    private static func clearLog(_ view: TransactionView, _ tables: StoreTables) throws -> UInt64 {
        var last: UInt64 = 0
        try view.forEachEntry(in: tables.log) { cursor in
            last = max(last, LogKey(cursor.key)?.commit ?? 0)
            try cursor.deleteCurrent()
        }
        return last
    }
}
