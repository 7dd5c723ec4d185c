internal import FetchIndexOrderCaches
internal import FetchIndexModels
internal import FetchIndexRecords

/// What is stored of the request that a cache is of.
///
/// For commands that name a cache instead of a request. Users' programs know their requests.
package enum StoredRequest {
    /// The next fetch with the cache's request rebuilds it: what is stored cannot be read.
    case unusable(RebuildReason)
    case readable(ReadableRequest)
}

package struct ReadableRequest {
    private let identity: CacheIdentity
    private let name: String
    private let container: PersistentContainer
    private let snapshot: Snapshot

    init(_ identity: CacheIdentity, _ name: String, in container: PersistentContainer, _ snapshot: Snapshot) {
        (self.identity, self.name, self.container, self.snapshot) = (identity, name, container, snapshot)
    }

    package var entity: String { identity.entity }
    package var includesSubentities: Bool { identity.includesSubentities }

    /// The definition, with the names that attributes have now. Throws `RequestError` and others when only its program knows the section
    /// key, or this machine lacks a calendar, a locale or a time zone.
    package func definition() throws -> OrderDefinition {
        try withPublicErrors { try OrderDefinition(identity, in: snapshot.model) }
    }

    /// Whether an order of the stored definition has the fingerprint that the cache has: not when the model or the rules of text order
    /// have changed since the cache was built. Throws as `definition`, and when the definition does not fit the model.
    package func isComparable() throws -> Bool {
        try withPublicErrors { try definition().compile(in: snapshot.model).identity == identity }
    }

    /// Whether a definition opens the cache without replacing its request. Throws when the definition does not fit the model.
    package func isSame(as definition: OrderDefinition) throws -> Bool {
        try withPublicErrors {
            if try container.compile(definition, .init(cacheName: name)).identity == identity { return true }
            return definition == (try? self.definition())
        }
    }
}
