public import FetchIndexEssentials
internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexRecords

/// A named cache's header, state and use, without its rows.
public struct NamedCache: Equatable, Sendable {
    /// Whether the next fetch with the cache's request can use the cache, if the versions in `Request.collation`
    /// haven't changed.
    public enum State: Equatable, Sendable {
        /// The order reflects the newest records.
        case current
        /// The log has the changes since the cache's commit, so the cache can catch up. Counts the changed objects of
        /// all entities that the order reads, once for each commit that changed them.
        case behind(changes: Int)
        /// The cache can't be used: the next fetch with its request builds the order anew.
        case unusable(RebuildReason)
    }

    /// The request for which the cache was built, as texts. The text of a missing part is "".
    public struct Request: Equatable, Sendable {
        public let entity: String
        public let predicate: String
        public let sortKeys: String
        public let sectionKey: String
        /// The order of sections; nil if the request has no section key.
        public let sectionOrder: String?
        public let aggregates: String
        /// The versions of the data and rules that the order depends on, for example of collators and time zones; "" if
        /// it depends on none.
        public let collation: String
        public let includesSubentities: Bool
    }

    public let name: String
    public let state: State
    /// Whether the cache belongs to an index or is a maintained cache: writers then catch it up.
    public let isMaintained: Bool
    /// Whether the cache is protected: another request with its name is an error instead of replacing the cache.
    public let isLocked: Bool
    /// The last commit that the cache's exact reader has received, or the commit of a rebuild that it hasn't received;
    /// nil if it counts as having received the order of `Contents.commit`. An exact reader opens the cache with
    /// `needsExactChange`.
    public let unreadSince: UInt64?
    /// The number of hits: openings that found the cache current. Those that other containers still hold in memory
    /// aren't counted yet.
    public let hits: Int
    /// The time of the last counted hit; nil before the first one.
    public let lastHit: Date?
    /// The contents of the cache's header; nil if it can't be read.
    public let contents: Contents?

    /// The contents of the cache's header.
    public struct Contents: Equatable, Sendable {
        public let request: Request
        /// The commit that the order reflects.
        public let commit: UInt64
        public let rowCount: Int
        /// The number of sections; 1 if the request has no section key.
        public let sectionCount: Int
        public let created: Date
        /// The time of the last build, or of the last catch-up that changed the order.
        public let updated: Date
        /// The number of builds.
        public let builds: Int
        /// The number of catch-ups that changed the order.
        public let catchUps: Int
    }

    /// Whether the cache is current.
    public var isFresh: Bool { state == .current }

    /// The number of changed objects, counted as in ``State/behind(changes:)``; 0 if the cache is current, nil if it's
    /// unusable.
    public var changesBehind: Int? {
        switch state {
        case .current: 0
        case .behind(let changes): changes
        case .unusable: nil
        }
    }
}

extension NamedCache {
    init(_ facts: CacheFacts, in model: Model) {
        name = facts.name
        (isMaintained, isLocked, unreadSince) = (facts.isMaintained, facts.isLocked, facts.unreadSince)
        (hits, lastHit) = (facts.hits, facts.lastHit.map { Date(timeIntervalSince1970: $0) })
        state =
            switch facts.assessment {
            case .current: .current
            case .behind(_, let changes): .behind(changes: changes)
            case .unusable(let reason, _): .unusable(reason)
            }
        contents = facts.header.map { Contents($0, in: model) }
    }
}

extension NamedCache.Contents {
    fileprivate init(_ header: CacheHeader, in model: Model) {
        request = NamedCache.Request(header.identity, in: model)
        (commit, rowCount) = (header.commit, header.rowCount)
        sectionCount = header.identity.section.isEmpty ? 1 : header.sectionCount
        created = Date(timeIntervalSince1970: header.created)
        updated = Date(timeIntervalSince1970: header.updated)
        (builds, catchUps) = (Int(header.builds), Int(header.catchUps))
    }
}

extension NamedCache.Request {
    /// Makes the texts of a cache's request, with the attributes' current names in a model.
    init(_ identity: CacheIdentity, in model: Model) {
        let definition = try? OrderDefinition(identity, in: model)
        let texts = definition?.texts
        entity = definition?.entity ?? identity.entity
        predicate = texts?.predicate ?? identity.predicate
        sortKeys = texts?.sort ?? identity.sort
        aggregates = texts?.aggregates ?? identity.aggregateList
        collation = identity.collation
        includesSubentities = identity.includesSubentities
        // The identity has the section key and the section order in one text, separated by a blank.
        let section = texts?.section ?? identity.section
        let blank = section.lastIndex(of: " ")
        sectionKey = blank.map { String(section[..<$0]) } ?? section
        sectionOrder = blank.map { String(section[section.index(after: $0)...]) }
    }
}
