internal import FetchIndexLMDB

/// A list of caches in the meta table.
package enum CacheList: Sendable {
    /// Caches that every writer maintains.
    case maintained
    /// Caches with a rebuild or changes that their exact readers have not had yet.
    case unread
    /// Caches that no other request replaces.
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
    /// Hands out the bytes of a list, if it exists. O(log n).
    package func withCacheList(_ list: CacheList, _ body: (RawSpan) throws -> Void) throws {
        _ = try view.get(list.key, in: tables.meta, body)
    }
}

extension StoreWriter {
    /// Replaces a list; nil removes it.
    package func setCacheList(_ list: CacheList, _ bytes: [UInt8]?) throws {
        guard let bytes else {
            try view.delete(list.key, in: tables.meta)
            return
        }
        try view.put(bytes, for: list.key, in: tables.meta)
    }
}
