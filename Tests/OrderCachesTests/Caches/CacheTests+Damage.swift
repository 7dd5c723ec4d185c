import FetchIndexModels
import FetchIndexPlatform
import FetchIndexLMDB
import FetchIndexRecords
import FetchIndexTestSupport
import Testing

@testable import FetchIndexOrderCaches

/// Caches with damaged bytes.
extension CacheTests {
    /// Changes each byte of each node of a cache in turn. `verify` reports the damage. Opening and reading the cache
    /// give the right rows or an error.
    @Test func verifyReportsEachChangedByteOfANode() throws {
        let order = TestOrder(hasSections: true)
        let request = try order.request()
        var generator = SeededGenerator(seed: 8)
        for _ in 0..<30 { try insert(TestRow.random(using: &generator)) }
        _ = try caches.open("n", request)
        let nodes = try nodes()
        #expect(!nodes.isEmpty)
        for (key, bytes) in nodes {
            for offset in bytes.indices {
                var damaged = bytes
                damaged[offset] ^= 0x41
                try test.write { try $0.view.put(damaged.span.bytes, for: key, in: $0.tables.nodes) }
                #expect(try !caches.verify("n", request).isEmpty, "byte \(offset) of node \(key)")
                try expectRightOrError(byte: "\(offset) of node \(key)", order, request)
            }
            try test.write { try $0.view.put(bytes.span.bytes, for: key, in: $0.tables.nodes) }
        }
        #expect(try caches.verify("n", request) == [])
    }

    /// Catching up a damaged cache gives a rebuild, the right rows, or an order whose damage is found when it's read.
    @Test func catchingUpADamagedCacheGivesRightRowsOrAnError() throws {
        let order = TestOrder(hasSections: true)
        let request = try order.request()
        var generator = SeededGenerator(seed: 9)
        for _ in 0..<30 { try insert(TestRow.random(using: &generator)) }
        var rebuilds = 0
        for trial in 0..<150 {
            _ = try caches.rebuild("n", request, .requested)
            guard let (key, bytes) = try nodes().sorted(by: { $0.key < $1.key }).randomElement(using: &generator) else {
                continue
            }
            var damaged = bytes
            damaged[Int.random(in: 0..<bytes.count, using: &generator)] ^= UInt8.random(in: 1...255, using: &generator)
            try test.write { try $0.view.put(damaged.span.bytes, for: key, in: $0.tables.nodes) }
            try randomCommit(&generator)
            let opened = try caches.open("n", request)
            if opened.outcome == .rebuilt(.damaged) { rebuilds += 1 }
            do {
                #expect(isEqual(try opened.order.contents(), order.sections(of: try rows())), "trial \(trial)")
            } catch  where error.isDamage {}
        }
        #expect(rebuilds > 20)
    }

    private func expectRightOrError(byte: String, _ order: TestOrder, _ request: OrderRequest) throws {
        do {
            let found = try caches.open("n", request).order.contents()
            #expect(isEqual(found, order.sections(of: try rows())), "byte \(byte)")
        } catch  where error.isDamage {}
    }

    func nodes() throws -> [UInt64: [UInt8]] {
        var nodes: [UInt64: [UInt8]] = [:]
        let snapshot = try test.store.snapshot()
        try snapshot.view.withCursor(on: snapshot.tables.nodes) { cursor in
            var isAtEntry = try cursor.seekToFirst()
            while isAtEntry {
                nodes[cursor.integerKey] = [UInt8](copying: cursor.value)
                isAtEntry = try cursor.seekToNext()
            }
        }
        return nodes
    }

    @Test func cachesWithDamagedOrNewerHeadersAreRebuilt() throws {
        let order = TestOrder(hasSections: true)
        let request = try order.request()
        try insert(TestRow(group: "a", rank: 1), TestRow(group: nil, rank: 2))
        _ = try caches.open("n", request)
        try damageHeaders(request, order)
    }

    func damageHeaders(_ request: OrderRequest, _ order: TestOrder) throws {
        var bytes: [UInt8] = []
        let name = Array("n".utf8)
        let snapshot = try test.store.snapshot()
        _ = try snapshot.view.get(name.span.bytes, in: snapshot.tables.caches) { bytes = [UInt8](copying: $0) }
        for offset in bytes.indices {
            var damaged = bytes
            damaged[offset] ^= 0x41
            try test.write { try $0.view.put(damaged.span.bytes, for: name.span.bytes, in: $0.tables.caches) }
            #expect(try caches.facts(of: "n", in: test.store.snapshot()).unusable == .damaged)
            let opened = try caches.open("n", request)
            #expect(opened.outcome == .rebuilt(.damaged), "byte \(offset)")
            #expect(isEqual(try opened.order.contents(), order.sections(of: try rows())))
        }
        var newer = Array(bytes.dropLast(4))
        newer[0] = 99
        newer.appendChecksum()
        try test.write { try $0.view.put(newer.span.bytes, for: name.span.bytes, in: $0.tables.caches) }
        #expect(try caches.open("n", request).outcome == .rebuilt(.formatChanged))
    }
}
