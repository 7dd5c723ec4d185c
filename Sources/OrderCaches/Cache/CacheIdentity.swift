internal import Models
/// Everything that shapes an order, as canonical texts: a cache is valid for exactly one. The texts are readable, and
/// the request can be parsed from them.
package struct CacheIdentity: Sendable {
    package var entity: String
    /// Changes with the entity's attributes.
    package var entityVersion: String
    package var predicate: String
    package var sort: String
    package var section: String
    /// Versions of what text order and calendar depend on.
    package var collation: String

    package init(
        entity: String, entityVersion: String, predicate: String, sort: String, section: String, collation: String
    ) {
        self.entity = entity
        self.entityVersion = entityVersion
        self.predicate = predicate
        self.sort = sort
        self.section = section
        self.collation = collation
    }

    /// The first part in which a wanted order differs from this one; nil when they are the same.
    func difference(from wanted: CacheIdentity) -> RebuildReason? {
        func differ(_ part: KeyPath<CacheIdentity, String>) -> Bool {
            !self[keyPath: part].utf8.elementsEqual(wanted[keyPath: part].utf8)
        }
        if differ(\.entity) || differ(\.entityVersion) { return .modelChanged }
        if differ(\.predicate) { return .predicateChanged }
        if differ(\.sort) { return .sortChanged }
        if differ(\.section) { return .sectionKeyChanged }
        if differ(\.collation) { return .collationChanged }
        return nil
    }
}

/// By bytes: canonically equivalent texts are different values.
extension CacheIdentity: Equatable {
    package static func == (left: CacheIdentity, right: CacheIdentity) -> Bool { left.difference(from: right) == nil }
}
