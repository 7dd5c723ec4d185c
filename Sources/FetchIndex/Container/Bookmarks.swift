public import FetchIndexEssentials
internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexPlatform
internal import FetchIndexRecords

/// A named commit, from which a consumer of changes goes on. The store keeps the log after it, up to the log's limit,
/// so that the changes since it can be asked for, also if others read them: each consumer has a bookmark of its own.
public struct Bookmark: Equatable, Sendable {
    public let name: String
    public let commit: UInt64
    /// The time at which the bookmark was set.
    public let time: Date
    /// Whether the log still has all changes since the commit. If not, the bookmark has been passed over: the log grew
    /// beyond its limit, or was deleted.
    public let isReachable: Bool
    /// The number of bytes of the log after the bookmark's commit. Caches and other bookmarks may need them too. What
    /// nothing needs, the store deletes once the log is long, the oldest commits first.
    public let pinnedBytes: Int

    init(_ name: String, _ stored: StoredBookmark, in reader: StoreReader) {
        (self.name, commit) = (name, stored.commit)
        time = Date(timeIntervalSince1970: stored.time)
        isReachable = reader.logReaches(back: stored.commit)
        pinnedBytes = isReachable ? (try? reader.logBytes(after: stored.commit)) ?? 0 : 0
    }

    static func all(in reader: StoreReader) throws -> [Bookmark] {
        try reader.bookmarks().sorted { $0.key < $1.key }.map { Bookmark($0.key, $0.value, in: reader) }
    }
}

/// A state of the store from which changes are asked for.
public enum StorePoint: Equatable, Sendable {
    /// The state after a commit, by its number; 0 is the empty store.
    case commit(UInt64)
    /// The state at a time: that of the last commit that was made until then.
    case time(Date)
    case bookmark(String)
}

extension PersistentContainer {
    /// The bookmarks, by name. O(b log b) for b bookmarks. Throws `StoreError`.
    public func bookmarks() throws -> [Bookmark] {
        try withPublicErrors {
            try Bookmark.all(in: store.snapshot())
        }
    }

    /// Sets a bookmark, or moves it, to a point; by default to the newest commit. Throws `StoreError`: among others
    /// `logTooShort` if the log doesn't have all changes since the point, and `invalidBookmarkName`. O(b) for b
    /// bookmarks; for a time, O(log n) more for each commit after it. Waits for another writer, without limit or for
    /// `writeTimeout`.
    @discardableResult
    public func setBookmark(
        named name: String, at point: StorePoint? = nil, writeTimeout: Duration? = nil
    ) throws -> Bookmark {
        try withPublicErrors {
            let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
            guard (1...511).contains(name.utf8.count), let first = name.utf8.first, !digits.contains(first),
                name.first?.isWhitespace == false, name.last?.isWhitespace == false,
                !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
            else {
                throw StoreError.invalidBookmarkName(name)
            }
            let writer = try store.beginWrite(limit: writeTimeout, changesRecords: false)
            let commit = try point.map { try $0.commit(in: writer) } ?? writer.commit
            return try set(name, commit, writer)
        }
    }

    func set(_ name: String, _ commit: UInt64, _ writer: StoreWriter) throws -> Bookmark {
        guard writer.logReaches(back: commit) else { throw StoreError.logTooShort(commit: commit) }
        let stored = StoredBookmark(commit: commit, time: Date().timeIntervalSince1970)
        try writer.setBookmark(name, stored)
        let bookmark = Bookmark(name, stored, in: writer)
        try writer.commit()
        return bookmark
    }

    /// Deletes a bookmark, so that the log after it needn't be kept. Throws `StoreError.unknownBookmark`. O(b) for b
    /// bookmarks.
    public func deleteBookmark(named name: String) throws {
        try withPublicErrors {
            let writer = try store.beginWrite(changesRecords: false)
            guard try writer.bookmarks()[name] != nil else { throw StoreError.unknownBookmark(name) }
            try writer.setBookmark(name, nil)
            try writer.commit()
        }
    }
}

extension StorePoint {
    /// The commit of a point. Throws `StoreError.unknownBookmark`, or `logTooShort` for a time before the log.
    func commit(in reader: StoreReader) throws -> UInt64 {
        switch self {
        case .commit(let commit): return commit
        case .time(let time): return try reader.lastCommit(at: time.timeIntervalSince1970)
        case .bookmark(let name):
            guard let bookmark = try reader.bookmarks()[name] else { throw StoreError.unknownBookmark(name) }
            return bookmark.commit
        }
    }
}

extension PersistentContainer {
    /// Opens an order, and calls the body with it and with its exact change since a point, also if others have read
    /// changes of it. The order is in the newest state or, as the change, ends at an earlier point. No bookmark is
    /// changed, and the cache's own reader still receives all changes: a cache that is behind is caught up in memory or,
    /// if very many rows changed, rebuilt and stored if possible. Without a usable cache, the order is computed in memory.
    /// A body that has made the change durable may move its bookmark.
    ///
    /// Costs and throws like opening the cache and ``FetchedOrder/changes(since:until:)``: O(k log n) for k changes; O(n
    /// log n) for a computed order. The change is unknown (`rebuilt`) if a migration has rewritten records since the
    /// first point; the order is then in the newest state. Rethrows the body's errors.
    ///
    ///     try container.withOrder(definition, .init(cacheName: "by price"), since: .bookmark("mail")) { order, change in
    ///         for event in change.rows where event.kind != .delete {
    ///             if let row = try order.row(of: event.id) { print(event.kind, row) }
    ///         }
    ///     }
    public func withOrder<Result>(
        _ definition: OrderDefinition, _ options: OrderOptions, since point: StorePoint, until end: StorePoint? = nil,
        _ body: (FetchedOrder, ResultsChange) throws -> Result
    ) throws -> Result {
        var isCalled = false
        func call(with newest: FetchedOrder) throws -> Result {
            let last = try end.map { try newest.commit(of: $0) } ?? newest.commit
            let change = try newest.changes(since: point, until: .commit(last))
            // If the change is unknown, so may be the order at an earlier point.
            let isNewest = last == newest.commit || change.rebuilt != nil
            let order = try isNewest ? newest : newest.past(at: .commit(last))
            isCalled = true
            return try body(order, change)
        }
        do {
            return try withUnchangedOrder(definition, options, renewsCache: true, call)
        } catch  where error.isDamage && !isCalled {
            // If the cache is damaged, the records may be sound.
            var inMemory = options
            inMemory.cacheName = nil
            return try withOrder(definition, inMemory, call)
        }
    }
}

extension FetchedResultsController {
    /// The exact change of the saved order from a point to the context's state, or to an earlier point, whether or not
    /// the controller has reported it. Unsaved edits aren't counted. Costs and throws like
    /// ``FetchedOrder/changes(since:until:)``; returns nil before the first fetch. Throws `RequestError` if the request
    /// has an offset or a limit, because its rows are then only a part of the order.
    public func changes(since point: StorePoint, until end: StorePoint? = nil) throws -> ResultsChange? {
        try withPublicErrors {
            guard fetchRequest.offset == 0, fetchRequest.limit == nil else {
                throw RequestError.malformed("the change since a point needs a request without offset and limit")
            }
            return try savedOrder()?.changes(since: point, until: end)
        }
    }
}

extension FetchedOrder {
    /// The commit whose state the order shows; a controller's unsaved edits come on top of it.
    public var commit: UInt64 { shown.commit }

    /// The exact change of the order from a point to the state that it shows, or to an earlier point, also if others
    /// have read changes of it. O(k log n) for k changes; if very many rows changed, O(n log n), except in orders that
    /// read related objects; to an earlier point, O(k log n) for all k changes since the first point, with their records
    /// in memory. The change is unknown (`rebuilt`) if a migration has rewritten records since the first point. Throws
    /// `StoreError.logTooShort` if the log doesn't have all changes since the point, or if the second point is before
    /// the first one, and `unknownBookmark`.
    public func changes(since point: StorePoint, until end: StorePoint? = nil) throws -> ResultsChange {
        damage.requireOpen()
        return try withPublicErrors {
            let commit = try point.commit(in: reader)
            if try commit < reader.lastRewrite() { return ResultsChange(rebuilt: .modelChanged) }
            let engine = container.cacheEngine
            let last = try end?.commit(in: reader) ?? shown.commit
            // Begins with the saved order: unsaved edits, which an order of a controller shows, aren't in the log.
            let change =
                if last == reader.commit {
                    try engine.change(of: builder, to: newest, since: commit, in: reader)
                } else {
                    try engine.change(
                        of: builder, to: engine.past(of: builder, at: last, from: newest, in: reader), since: commit,
                        in: reader)
                }
            return change.identified { id(of: $0) }
        }
    }
}
