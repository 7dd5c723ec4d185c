package import LMDB

extension Store {
    /// Makes a store's state anew when it cannot be read, without which the store cannot be opened: at a commit after all
    /// that log and caches know of (`newest` tells of these), and with an empty log. Returns what it did; nil when the
    /// state is whole. O(log).
    package static func repairState(
        at path: String, newest: (TransactionView, StoreTables) throws -> UInt64
    ) throws -> String? {
        try requireFile(at: path)
        let environment: Environment
        let tables: StoreTables
        do {
            var options = Options()
            options.creates = false
            environment = try openEnvironment(at: path, options)
            tables = try StoreTables(environment, creating: false)
        } catch {
            throw explain(error, at: path)
        }
        try checkFormat(of: environment, tables)
        let transaction = try environment.beginWrite()
        let view = transaction.view
        let key = StoreLayout.stateKey
        var isWhole = false
        _ = try view.get(key.span.bytes, in: tables.meta) { isWhole = (try? StoreState(decoding: $0)) != nil }
        if isWhole { return nil }
        var state = StoreState()
        state.commit = try max(min(newest(view, tables), StoreState.greatest - 1), clearLog(view, tables)) + 1
        state.logStart = state.commit
        // Processes that have the store open know models by their versions: it must be none of theirs.
        state.modelVersion = UInt32(truncatingIfNeeded: UInt64(currentTime() * 1000)) | 1 << 31
        let entries = [(key, state.encoded(writtenBy: view)), (StoreLayout.formatKey, StoreLayout.encodedVersion)]
        for (key, value) in entries { try view.put(value.span.bytes, for: key.span.bytes, in: tables.meta) }
        try transaction.commit()
        return "the store's state was damaged: made anew at commit \(state.commit), with an empty log"
    }

    /// Empties the log; returns the last commit in it.
    private static func clearLog(_ view: TransactionView, _ tables: StoreTables) throws -> UInt64 {
        var last: UInt64 = 0
        try view.forEachEntry(in: tables.log) { cursor in
            last = max(last, LogKey(cursor.key)?.commit ?? 0)
            try cursor.deleteCurrent()
        }
        return last
    }
}
