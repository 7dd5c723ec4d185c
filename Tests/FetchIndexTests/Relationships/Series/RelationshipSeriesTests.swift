import FetchIndex
import FetchIndexTestSupport
import Testing

/// Random edits of a library. Both sides of every relationship must agree with plain lists: after every step in the
/// context that edits, and after every save in a context that merges and in a new context.
@Suite struct RelationshipSeriesTests {
    @Test(arguments: 0..<12) func bothSidesOfARelationshipAgreeWithPlainLists(seed: UInt64) throws {
        var series = try LibrarySeries(seed: seed)
        let follower = series.store.container.newContext()
        for step in 0..<220 {
            try series.step()
            let note: Comment = "seed \(seed), step \(step): \(series.steps.suffix(12))"
            try series.live.check(series.plain, note)
            guard series.steps.last == "save", !series.context.hasChanges else { continue }
            let fresh = series.store.container.newContext()
            try series.live.copied(to: fresh, series.plain).check(series.plain, note)
            try follower.mergeChanges()
            try series.live.copied(to: follower, series.plain).check(series.plain, note)
        }
    }
}
