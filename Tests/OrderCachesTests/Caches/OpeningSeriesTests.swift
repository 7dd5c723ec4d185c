import FetchIndexLMDB
import FetchIndexModels
import FetchIndexPlatform
import FetchIndexRecords
import FetchIndexTestSupport
import FetchIndexValues
import Testing

@testable import FetchIndexOrderCaches

/// After random events, the assessment of a cache must agree with them. Whichever way the cache is opened, the outcome
/// must agree with the assessment, and the order with the records.
@Suite struct OpeningSeriesTests {
    enum Event: CaseIterable {
        case changeRows
        case changeOthers
        case trimLog
        case deleteCache
        case damageHeader
        case writeNewerFormat
        /// Another request takes the cache's name.
        case openOther
    }

    enum Way: CaseIterable {
        case open
        case inSnapshot
        case inReadOnlyStore
        case whileAnotherWrites
        case withAllNewest
        case following
        case keeping
        case establishing

        /// Whether the cache is left as it is, although its order is opened.
        var writesNothing: Bool { [.inSnapshot, .inReadOnlyStore, .whileAnotherWrites].contains(self) }

        /// Whether this way leaves a cache that is unusable for this reason as it is.
        func leaves(_ reason: RebuildReason) -> Bool {
            switch self {
            case .withAllNewest, .following: !reason.isOfState
            case .keeping: !reason.isOfState && reason != .formatChanged
            default: false
            }
        }
    }

    @Test(arguments: TestOrder.all.indices) func anOpeningAgreesWithItsAssessment(index: Int) throws {
        for round in 0..<(TestSettings.isLong ? 10 : 1) {
            let seed = UInt64(index + 100 * round)
            let series = try OpeningSeries(TestOrder.all[index], seed: seed)
            for _ in 0..<40 { try series.perform() }
            #expect(series.reasons.count > 1, "seed \(seed): only \(series.reasons)")
        }
    }

    /// If several parts differ, the first one in the order of `parts` gives the reason.
    @Test func theFirstChangedPartOfAnIdentityGivesTheReason() {
        let parts: [(WritableKeyPath<CacheIdentity, String>, RebuildReason)] = [
            (\.entity, .modelChanged), (\.predicate, .predicateChanged), (\.sort, .sortChanged),
            (\.section, .sectionKeyChanged), (\.aggregates, .aggregatesChanged), (\.reads, .modelChanged),
            (\.collation, .collationChanged),
        ]
        let identity = CacheIdentity(
            entity: "e", reads: "r", predicate: "p", sort: "s", section: "n", aggregates: "a", collation: "caf\u{E9}")
        for changed in 0..<1 << parts.count {
            var other = identity
            // The list of aggregates doesn't count: requests with other lists can use the same summaries.
            other.aggregateList = "other"
            for (index, part) in parts.enumerated() where changed >> index & 1 == 1 { other[keyPath: part.0] += "x" }
            let expected = parts.indices.first { changed >> $0 & 1 == 1 }.map { parts[$0].1 }
            #expect(identity.difference(from: other) == expected, "\(changed)")
        }
        var decomposed = identity
        decomposed.collation = "cafe\u{301}"
        #expect(decomposed.collation == identity.collation)
        #expect(identity.difference(from: decomposed) == .collationChanged)
    }
}
