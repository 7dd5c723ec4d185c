internal import FetchIndexInspection
package import FetchIndex
internal import FetchIndexEssentials

/// One line about a cache, for lists.
package struct CacheSummary: Hashable, Sendable {
    package let name: String
    /// The name without control characters.
    package let shownName: String
    /// The state as text, such as "fresh" or "3 changes behind, locked".
    package let state: String
    /// The CSS class of the state: good, behind or bad.
    package let style: String
    /// A text that changes with the cache's commit, builds, catch-ups, hits and state. If it changes, the live page
    /// reads the cache's card again when it shows the card.
    package let version: String

    /// Returns the summaries of all caches, sorted by name. O(log n) for each cache, and for each commit since the
    /// cache's commit, or since the commit that its exact reader last received, if that is older. Throws `StoreError`.
    package static func all(of container: PersistentContainer) throws -> [CacheSummary] {
        let state = try container.pinnedState()
        return try state.cacheNames().map { name in
            do { return CacheSummary(try state.facts(ofCache: name)) } catch let error as StoreError {
                return CacheSummary(
                    name: name, shownName: name.visible, state: "cannot be read", style: "bad",
                    version: "\(error)".visible)
            }
        }
    }
}

extension CacheSummary {
    private init(_ cache: NamedCache) {
        let contents = cache.contents.map {
            "\($0.created.timeIntervalSince1970) \($0.commit) \($0.catchUps) \($0.builds)"
        }
        self.init(
            name: cache.name, shownName: cache.name.visible, state: cache.sentence, style: cache.state.style,
            version: "\(contents ?? "") \(cache.hits) \(cache.sentence)")
    }
}
