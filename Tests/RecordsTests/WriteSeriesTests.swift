import FetchIndexTestSupport
import Testing

/// Random writes of all kinds against a plain dictionary. A write that is refused changes nothing, a dropped transaction
/// never happened, and the log tells each commit exactly.
@Suite struct WriteSeriesTests {
    @Test(arguments: 1...(TestSettings.isLong ? 60 : 10) as ClosedRange<UInt64>)
    func theStoreIsWhatWasWritten(seed: UInt64) throws {
        let series = try WriteSeries(seed: seed)
        for _ in 0..<25 { try series.writeTransaction() }
        #expect(series.refusedCount > 0 && series.outcomeCount > 0, "seed \(seed)")
    }

    /// The log's limit holds whatever the size of a commit.
    @Test(arguments: 1...4 as ClosedRange<UInt64>) func aLimitedLogTellsWhatItStillHolds(seed: UInt64) throws {
        let series = try WriteSeries(seed: 100 + seed)
        for round in 0..<25 {
            if round % 5 == 0 { try series.limitLog() }
            try series.writeTransaction()
        }
    }
}
