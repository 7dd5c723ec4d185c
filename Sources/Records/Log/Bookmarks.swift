internal import FetchIndexPlatform
internal import FetchIndexModels
internal import FetchIndexLMDB

/// A named commit, after which the log is kept so that changes since it can be asked for.
package struct StoredBookmark: Equatable, Sendable {
    package let commit: UInt64
    /// The time at which the bookmark was set, in seconds since 1970.
    package let time: Double

    package init(commit: UInt64, time: Double) { (self.commit, self.time) = (commit, time) }

    /// The bookmarks of a store by their names.
    static func all(in view: TransactionView, _ tables: StoreTables) throws -> [String: StoredBookmark] {
        var bookmarks: [String: StoredBookmark] = [:]
        _ = try view.get(StoreLayout.bookmarksKey, in: tables.meta) { bytes in
            var reader = try ByteReader(checked: bytes, "the list of bookmarks")
            for _ in 0..<(try reader.count()) {
                let name = try reader.text()
                let commit = try reader.varint()
                bookmarks[name] = StoredBookmark(commit: commit, time: Double(bitPattern: try reader.uint64()))
            }
        }
        return bookmarks
    }
}

extension StoreReader {
    /// The bookmarks by their names. O(log n). Throws `corrupted` if the list is damaged.
    package func bookmarks() throws -> [String: StoredBookmark] { try StoredBookmark.all(in: view, tables) }

    /// The last commit that rewrote records for another model, or removed an entity; 0 if none has. The log lacks what it
    /// rewrote, and records of earlier commits have the old types, so changes since an earlier commit are unknown.
    package func lastRewrite() throws -> UInt64 {
        var commit: UInt64 = 0
        _ = try view.get(StoreLayout.rewriteKey, in: tables.meta) { bytes in
            var reader = try ByteReader(checked: bytes, "the number of the last migration's commit")
            commit = try reader.varint()
        }
        return commit
    }

    /// The number of bytes that the log has for the commits after a commit. O(log n + parts of these commits); the parts
    /// themselves aren't read.
    package func logBytes(after commit: UInt64) throws -> Int {
        var bytes = 0
        let first = StoreLayout.logKey(commit: max(commit, state.logStart) + 1, part: 0)
        try view.walk(tables.log, from: first.span.bytes) { cursor in
            bytes += cursor.key.byteCount + cursor.value.byteCount
            return true
        }
        return bytes
    }

    /// The last commit that was made at a time or earlier. Throws `logTooShort` if that commit may be older than the
    /// log. O(log n) for each commit after it.
    package func lastCommit(at time: Double) throws -> UInt64 {
        var commit = state.commit
        while commit > state.logStart {
            if try commitHeader(commit).time <= time { return commit }
            commit -= 1
        }
        // The log begins with the store's first commit, or its start is older than the first commit that it has.
        if state.logStart == 0 { return 0 }
        throw StoreError.logTooShort(commit: state.logStart)
    }
}

extension StoreWriter {
    func noteRewrite() throws {
        var bytes: [UInt8] = []
        bytes.appendVarint(state.commit)
        bytes.appendChecksum()
        try view.put(bytes, for: StoreLayout.rewriteKey, in: tables.meta)
    }

    /// Sets or removes (nil) a bookmark. O(b) for b bookmarks.
    package func setBookmark(_ name: String, _ bookmark: StoredBookmark?) throws {
        var all = try bookmarks()
        all[name] = bookmark
        try write(all)
    }

    /// Replaces the list of bookmarks if it's damaged. Returns a report of the repair.
    package func repairBookmarks() throws -> [String] {
        do { _ = try bookmarks() } catch  where (error as? StoreError)?.isDamage == true {
            try write([:])
            return ["the list of bookmarks was damaged: set them again"]
        }
        return []
    }

    private func write(_ all: [String: StoredBookmark]) throws {
        if all.isEmpty {
            try view.delete(StoreLayout.bookmarksKey, in: tables.meta)
            return
        }
        var bytes: [UInt8] = []
        bytes.appendVarint(UInt64(all.count))
        for (name, bookmark) in all.sorted(by: { $0.key < $1.key }) {
            bytes.appendText(name)
            bytes.appendVarint(bookmark.commit)
            bytes.appendNumber(bookmark.time.bitPattern)
        }
        bytes.appendChecksum()
        try view.put(bytes, for: StoreLayout.bookmarksKey, in: tables.meta)
    }
}
