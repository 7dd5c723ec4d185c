package import FetchIndex
internal import FetchIndexOrderCaches
internal import FetchIndexRecords

/// A cache in a few words.
package struct CacheSummary: Hashable, Sendable {
    package let name: String
    /// The name without control characters.
    package let shownName: String
    /// fresh, 3 changes behind, ...
    package let state: String
    /// good, behind or bad
    package let style: String
    /// Another text when the cache's card would be another one.
    package let version: String

    /// The summaries of all caches, by name. O(caches x log n). Throws `StoreError`.
    package static func all(of container: PersistentContainer) throws -> [CacheSummary] {
        let snapshot = try container.store.snapshot()
        return try CacheDirectory.names(in: snapshot).map { name in
            do {
                return CacheSummary(try container.cacheEngine.facts(of: name, in: snapshot))
            } catch {
                guard let error = publicError(error) as? StoreError else { throw error }
                return CacheSummary(
                    name: name, shownName: name.visible, state: "cannot be read", style: "bad",
                    version: "\(error)".visible)
            }
        }
    }
}

extension CacheSummary {
    private init(_ facts: CacheFacts) {
        let header = facts.header.map { "\($0.number) \($0.commit) \($0.catchUps) \($0.builds)" } ?? ""
        self.init(
            name: facts.name, shownName: facts.name.visible, state: facts.sentence, style: facts.style,
            version: "\(header) \(facts.hits) \(facts.sentence)")
    }
}
