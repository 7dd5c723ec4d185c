/// The result of opening a cache, for a caller that decides itself what happens to an unusable one.
package enum CacheAttempt<Opened> {
    case opened(Opened)
    /// The cache must be rebuilt, and this opening hasn't rebuilt it.
    case unusable(RebuildReason)

    package var opened: Opened? { if case .opened(let opened) = self { opened } else { nil } }

    package func map<Result>(_ transform: (Opened) -> Result) -> CacheAttempt<Result> {
        switch self {
        case .opened(let opened): .opened(transform(opened))
        case .unusable(let reason): .unusable(reason)
        }
    }
}
