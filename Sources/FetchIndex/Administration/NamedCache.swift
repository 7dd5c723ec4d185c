internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexRecords
#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// What is known of a named cache in one state of its store, without a look at its order. Lists, reports and the live page print it.
public struct NamedCache: Equatable, Sendable {
    /// What the next fetch with the cache's request finds.
    public enum State: Equatable, Sendable {
        /// The order is that of the newest records.
        case current
        /// The cache misses some changes, which the log has.
        case behind(changes: Int)
        /// The next fetch with its request rebuilds the cache.
        case unusable(RebuildReason)
    }

    /// The request that the cache was built for, as text in the form that requests are parsed from. A missing part is "".
    public struct Request: Equatable, Sendable {
        public let entity: String
        public let predicate: String
        public let sortKeys: String
        public let sectionKey: String
        /// The order of sections; nil without a section key.
        public let sectionOrder: String?
        public let aggregates: String
        /// The versions of the rules of text order, "" if no text is compared by such rules.
        public let collation: String
        public let includesSubentities: Bool
    }

    public let name: String
    public let state: State
    /// Whether every writer keeps the cache current: an index, or a cache that is to be maintained.
    public let isMaintained: Bool
    /// Whether no other request replaces the cache.
    public let isLocked: Bool
    /// The commit since which its exact reader has not had the changes; nil when nothing is noted.
    public let unreadSince: UInt64?
    /// The openings that found it current, and when the last one was.
    public let hits: Int
    public let lastHit: Date?
    /// The contents of the cache's header; nil if it can't be read.
    public let contents: Contents?

    /// What is stored of the cache beside its order.
    public struct Contents: Equatable, Sendable {
        public let request: Request
        /// The commit that the order reflects.
        public let commit: UInt64
        public let rowCount: Int
        /// Without a section key 1.
        public let sectionCount: Int
        public let created: Date
        /// When it was last built or caught up.
        public let updated: Date
        /// How often it was built, and caught up.
        public let builds: Int
        public let catchUps: Int
    }

    /// Whether it is current.
    public var isFresh: Bool { state == .current }

    /// How many changes the cache is behind; nil when it is unusable.
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
    /// Names attributes as a model does.
    init(_ identity: CacheIdentity, in model: Model) {
        let texts = try? OrderDefinition(identity, in: model).texts
        entity = identity.entity
        predicate = texts?.predicate ?? identity.predicate
        sortKeys = texts?.sort ?? identity.sort
        aggregates = texts?.aggregates ?? identity.aggregateList
        collation = identity.collation
        includesSubentities = identity.includesSubentities
        // A blank is between the section key and the order of sections.
        let section = texts?.section ?? identity.section
        let blank = section.lastIndex(of: " ")
        sectionKey = blank.map { String(section[..<$0]) } ?? section
        sectionOrder = blank.map { String(section[section.index(after: $0)...]) }
    }
}
