import FetchIndexTestSupport
import Testing

@testable import FetchIndexRecords

/// The set of key hashes of a first import, compared with Swift's `Set`.
@Suite struct SeenKeysTests {
    /// Hashes fall into all tables of the set, or into the first table alone. The tables grow meanwhile.
    @Test(arguments: [.max, 1 << 20 - 1] as [UInt64]) func aSetOfSeenKeysReportsEachHashAsNewOnce(mask: UInt64) {
        var generator = SeededGenerator(seed: 5)
        var seen = SeenKeys(most: 70_000)
        var (hashes, expected): ([UInt64], Set<UInt64>) = ([], [])
        for number in 0..<200_000 {
            let isOld = number >= 100_000
            let index = isOld ? Int.random(in: 0..<100_000, using: &generator) : number
            if !isOld { hashes.append(max(.random(in: 0...UInt64.max, using: &generator) & mask, 1)) }
            let isNew = expected.insert(hashes[index]).inserted
            let wasNew = seen.insert(hashes[index])
            guard wasNew == isNew else {
                Issue.record("\(hashes[index]), number \(number): \(wasNew)")
                return
            }
        }
        #expect(seen.count == expected.count && seen.isFull)
    }
}
