internal import FetchIndexOrderCaches
internal import FetchIndexModels
internal import FetchIndexRecords

/// The stored request of a cache.
///
/// For commands that name a cache instead of a request. Users' programs know their requests.
package enum StoredRequest {
    /// The stored request can't be read; the next fetch with the cache's request rebuilds the cache.
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

    package var entity: String {
        snapshot.model.number(ofPermanent: identity.entity).map { snapshot.model.entities[$0].name } ?? identity.entity
    }
    package var includesSubentities: Bool { identity.includesSubentities }

    /// The definition, with the current names of attributes. Throws `RequestError` or another error if the stored texts
    /// can't be parsed, for example because only the program that built the cache knows the section key.
    package func definition() throws -> OrderDefinition {
        try withPublicErrors { try OrderDefinition(identity, in: snapshot.model) }
    }

    /// Whether an order with the stored definition has the cache's fingerprint. The fingerprint may be another one if
    /// the model or the collation rules have changed since the cache was built. Throws like `definition`, and if the
    /// definition doesn't fit the model, or if this machine lacks its calendar, locale or time zone.
    package func isComparable() throws -> Bool {
        try withPublicErrors { try definition().compile(in: snapshot.model).identity == identity }
    }

    /// Whether a definition is the cache's own request, so that opening the cache with it doesn't replace the request.
    /// Throws if the definition doesn't fit the model.
    package func isSame(as definition: OrderDefinition) throws -> Bool {
        try withPublicErrors {
            if try container.compile(definition, .init(cacheName: name)).identity == identity { return true }
            return definition == (try? self.definition())
        }
    }
}
