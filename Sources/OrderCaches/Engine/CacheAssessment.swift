internal import FetchIndexModels
package import FetchIndexRecords

/// The state of a cache for a request, in one state of the store.
///
///     current    nothing that its order depends on has changed since the commit of its header
///     behind     the log has the changes since that commit; their number is given
///     unusable   its order must be built from all records, for the reason
///
/// The enum is indirect, because the header is large: each opening copies the assessment several times.
package indirect enum CacheAssessment {
    case current(CacheHeader)
    case behind(CacheHeader, changes: Int)
    /// The cache must be rebuilt. The header is nil if the cache is missing, or if its header can't be used.
    case unusable(RebuildReason, CacheHeader?)

    package var header: CacheHeader? {
        switch self {
        case .current(let header), .behind(let header, _): header
        case .unusable(_, let header): header
        }
    }

    package var isCurrent: Bool { if case .current = self { true } else { false } }

    /// The reason why the cache must be rebuilt; nil if it's usable.
    package var unusable: RebuildReason? { if case .unusable(let reason, _) = self { reason } else { nil } }
}

extension CacheEngine {
    /// The assumed cost of catching up with a changed row, as a multiple of the cost of building a row.
    private static let catchUpCost = 4
    /// The number of changes up to which a cache is caught up, whatever its size: knowing the exact change is worth the
    /// time.
    static let alwaysCaughtUp = 10_000

    /// Assesses a cache for a request in a reader's state. O(log n), and O(k log n) for k commits since the cache's.
    package func assess(_ cache: CacheRequest, in reader: StoreReader) throws -> CacheAssessment {
        #if DEBUG
            hits?.noteAssessment()
        #endif
        do {
            guard let header = try CacheDirectory.header(cache.name, in: reader) else { return .unusable(.first, nil) }
            return try Self.assess(header, for: cache, in: reader)
        } catch let error as UnusableHeader {
            return .unusable(error.reason, nil)
        }
    }

    /// Assesses a cache by its header. If `cache` is nil, assesses it for the request that built it, and for a reader
    /// that needs the exact change.
    static func assess(
        _ header: CacheHeader, for cache: CacheRequest? = nil, in reader: StoreReader
    ) throws -> CacheAssessment {
        let dependencies: [Int]
        if let cache {
            if let reason = header.identity.difference(from: cache.order.identity) {
                return .unusable(header.identity.canBeRead(from: reader.model) ? reason : .modelChanged, header)
            }
            dependencies = cache.order.builder.dependencies
        } else {
            guard header.identity.canBeRead(from: reader.model),
                let entity = reader.model.number(ofPermanent: header.identity.entity)
            else { return .unusable(.modelChanged, header) }
            dependencies = header.identity.dependencies(entity)
        }
        // A log that can't be read is treated as one that is too short.
        guard let changes = try? header.changesBehind(of: dependencies, in: reader) else {
            return .unusable(.logTooShort, header)
        }
        if changes == 0 { return .current(header) }
        if let cache, !cache.needsExactChange,
            changes > (try mostCaughtUp(of: cache.order.builder.entities, in: reader))
        {
            return .unusable(.tooManyChanges, header)
        }
        return .behind(header, changes: changes)
    }

    /// The maximum number of changes with which a cache is caught up, and also the maximum number of rows that depend
    /// on changed records. Neither applies to a request that needs the exact change.
    static func mostCaughtUp(of entities: [Int], in reader: StoreReader) throws -> Int {
        Int(clamping: try reader.count(of: entities)) / catchUpCost + alwaysCaughtUp
    }
}

extension RebuildReason {
    /// Whether only the cache's state is unusable: as far as its header can be read, it belongs to the same request.
    package var isOfState: Bool { [.tooManyChanges, .logTooShort, .damaged].contains(self) }

    /// Whether the cache is missing, or belongs to a request for the same entity with another predicate, sort keys,
    /// section key or aggregates. In both cases, a reader with this request has no previous state.
    package var isOfOtherRequest: Bool {
        [.first, .predicateChanged, .sortChanged, .sectionKeyChanged, .aggregatesChanged].contains(self)
    }
}
