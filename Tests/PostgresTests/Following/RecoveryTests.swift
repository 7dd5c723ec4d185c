import FetchIndexPostgresSource
import Testing

/// What a follower remembers between its attempts, tested without a server.
@Suite struct RecoveryTests {
    @Test func changesLostAgainBeforeTheStoreIsConsistentCauseNoCopy() {
        var recovery = Recovery(copiesAgain: false)
        let first = recovery.copyAgain(isConsistent: true)
        #expect(first && recovery.copiesAgain)
        // The next attempt has copied the tables.
        recovery.copiesAgain = false
        let second = recovery.copyAgain(isConsistent: false)
        let third = recovery.copyAgain(isConsistent: true)
        #expect(!second && third)
    }

    @Test func changesLostDuringARequestedCopyCauseNoFurtherCopy() {
        var recovery = Recovery(copiesAgain: true)
        let helps = recovery.copyAgain(isConsistent: true)
        #expect(!helps)
    }

    @Test func pausesGrowToALimit() {
        var recovery = Recovery(copiesAgain: false)
        var pauses: [Double] = []
        for _ in 0..<5 {
            pauses.append(recovery.pause)
            recovery.lengthenPause()
        }
        #expect(pauses == [1, 2, 4, 5, 5])
    }

    @Test func transactionsAreUnseenUntilASnapshotShowsThem() {
        var unseen = UnseenTransactions()
        // The numbers wrap around.
        for number: UInt32 in [.max - 1, .max, 0, 1, 2] { unseen.insert(number) }
        unseen.removeVisible(before: 1, open: [.max])
        #expect(unseen.numbers == [.max, 1, 2])
        unseen.removeVisible(before: 3, open: [])
        #expect(unseen.numbers.isEmpty)
    }
}
