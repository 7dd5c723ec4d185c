internal import FetchIndexLMDB
public import FetchIndexValues

/// An error about the name or the lock of a cache.
public enum CacheError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The name doesn't have 1 to 511 bytes of UTF-8, or begins like the name of an index.
    case invalidName(String)
    /// No cache has the name. `near` has a similar name that may be meant, if any.
    case unknown(String, near: NearName = NearName())
    /// The cache of this name is locked, so that no other request can replace it and it can't be deleted; or the
    /// options of an opening don't let it replace another request's cache.
    case locked(String)

    public var description: String {
        switch self {
        case .invalidName(let name):
            (1...Table.maximumKeyLength).contains(name.utf8.count)
                ? "\"\(name)\" begins like the name of an index"
                : "a cache's name has 1 to 511 bytes of UTF-8; \"\(name)\" has \(name.utf8.count)"
        case .unknown(let name, let near): "there is no cache \"\(name)\" in the store\(near.hint)"
        case .locked(let name):
            "the cache \"\(name)\" is locked, or belongs to another request that must not be replaced; unlock it, or use another name"
        }
    }
}
