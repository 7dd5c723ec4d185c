internal import FetchIndexLMDB

/// A list of caches in the meta table.
package enum CacheList: Sendable {
    /// The caches that writers maintain.
    case maintained
    /// The caches whose exact readers haven't received a rebuild, or changes.
    case unread
    /// The caches that are locked: a fetch with another request can't replace them.
    case locked

    fileprivate var key: [UInt8] {
        switch self {
        case .maintained: StoreLayout.maintainedKey
        case .unread: StoreLayout.unreadKey
        case .locked: StoreLayout.lockedKey
        }
    }
}

extension StoreReader {
    /// Calls the body with the bytes of a list, if it exists. O(log n).
    package func withCacheList(_ list: CacheList, _ body: (RawSpan) throws -> Void) throws {
        _ = try view.get(list.key, in: tables.meta, body)
    }
}

extension StoreWriter {
    /// Replaces the bytes of a list, or removes it if `bytes` is nil.
    package func setCacheList(_ list: CacheList, _ bytes: [UInt8]?) throws {
        guard let bytes else {
            try view.delete(list.key, in: tables.meta)
            return
        }
        try view.put(bytes, for: list.key, in: tables.meta)
    }
}
