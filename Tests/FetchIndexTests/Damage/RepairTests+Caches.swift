import FetchIndexLMDB
import FetchIndexTestSupport
import Testing

@testable import FetchIndex
@testable import FetchIndexOrderCaches
@testable import FetchIndexRecords

/// Repairs that rebuild damaged caches from the records, or delete caches whose requests can't be read.
extension RepairTests {
    @Test func aRepairRebuildsDamagedCachesAndDeletesNodesWithoutACache() throws {
        var generator = SeededGenerator(seed: 5)
        for trial in 0..<20 {
            let node = try #require(try entries(\.nodes).keys.sorted { $0[4] < $1[4] }.randomElement(using: &generator))
            let removes = Bool.random(using: &generator)
            try change(\.nodes, node) { removes ? nil : flipped($0) }
            let repair = try repair("trial \(trial)")
            #expect(repair.repairs.count == 1 && repair.repairs[0].contains("rebuilt, 500 rows"))
        }
        let header = try #require(try CacheDirectory.header("by publisher", in: container.store.snapshot()))
        var ahead = header
        ahead.commit = 1000
        try change(\.caches, Array("by publisher".utf8)) { _ in ahead.encoded }
        try repair("a commit number that is too high")
        try change(\.caches, [0xC0, 0xFF]) { _ in ahead.encoded }
        #expect(try repair("a name that is not UTF-8").repairs == ["1 cache had a name that is not UTF-8: deleted"])
        try change(\.nodes, [0, 0, 0, 0, 0, 9, 0, 0]) { _ in [1, 2, 3, 4, 5] }
        #expect(
            try repair("nodes without a cache").repairs == ["nodes with cache number 9 belonged to no cache: deleted"])
    }

    @Test func aRepairDeletesADamagedCacheWhoseRequestItCannotRead() throws {
        try change(\.caches, Array("by price".utf8), flipped)
        let repair = try repair()
        #expect(repair.repairs.contains { $0.contains("\"by price\"") && $0.contains("has been deleted") })
        let header = try #require(try CacheDirectory.header("by publisher", in: container.store.snapshot()))
        var computed = header
        computed.identity.section = "computed(letters,1) first-row"
        try change(\.caches, Array("by publisher".utf8)) { _ in computed.encoded }
        for node in try entries(\.nodes) where node.key[5] == UInt8(header.number) {
            try change(\.nodes, node.key, flipped)
        }
        #expect(try self.repair().repairs.contains { $0.contains("its request cannot be read here") })
    }
}
