import FetchIndexTestSupport
import Testing

/// Random insertions, updates and deletions against a plain dictionary. A refused write changes nothing, a dropped
/// transaction changes nothing, and the log has exactly the changes of each commit that it reaches.
@Suite struct WriteSeriesTests {
    @Test(arguments: 1...(TestSettings.isLong ? 60 : 10) as ClosedRange<UInt64>)
    func theStoreAndItsLogHaveExactlyTheCommittedWrites(seed: UInt64) throws {
        let series = try WriteSeries(seed: seed)
        for _ in 0..<25 { try series.writeTransaction() }
        #expect(series.refusedCount > 0 && series.outcomeCount > 0, "seed \(seed)")
    }

    /// LMDB writes the changed pages of a transaction to the file before each change.
    @Test(arguments: 201...(TestSettings.isLong ? 230 : 206) as ClosedRange<UInt64>)
    func changedPagesMayBeWrittenBeforeTheCommit(seed: UInt64) throws {
        let series = try WriteSeries(seed: seed, writeMemory: 0)
        for _ in 0..<25 { try series.writeTransaction() }
        #expect(series.refusedCount > 0 && series.outcomeCount > 0, "seed \(seed)")
    }

    /// The log has a random limit, which is set anew after every five transactions.
    @Test(arguments: 1...4 as ClosedRange<UInt64>) func aLimitedLogHasExactlyTheChangesOfItsRemainingCommits(
        seed: UInt64
    ) throws {
        let series = try WriteSeries(seed: 100 + seed)
        for round in 0..<25 {
            if round % 5 == 0 { try series.limitLog() }
            try series.writeTransaction()
        }
    }
}
