import FetchIndexModels
import FetchIndexTestSupport
import Testing

/// Random writes of linked objects against a plain graph, under each delete rule. Links are followed in both directions
/// in the newest state, and the links of the state before it are reconstructed.
@Suite struct LinkSeriesTests {
    @Test(arguments: [DeleteRule.nullify, .cascade, .deny, .noAction]) func linksMatchTheRecordsUnderEachDeleteRule(
        rule: DeleteRule
    ) throws {
        var (refusedCount, deniedCount) = (0, 0)
        for seed in 1...(TestSettings.isLong ? 40 : 3) as ClosedRange<UInt64> {
            let series = try LinkSeries(rule, seed: seed)
            for _ in 0..<25 { try series.writeTransaction() }
            refusedCount += series.refusedCount
            deniedCount += series.deniedCount
        }
        #expect(refusedCount > 0 && (deniedCount > 0) == (rule == .deny), "\(rule)")
    }
}
