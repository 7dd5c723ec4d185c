import FetchIndexLMDB
import FetchIndexModels
import FetchIndexRecords
import FetchIndexTestSupport
import Testing

@testable import FetchIndexOrderCaches

/// Which requests may use or replace a locked cache, and which deletions are refused.
@Suite struct CacheLockTests {
    private let test: TestStore
    private let caches: CacheEngine
    private let own: CacheRequest
    private let other: CacheRequest

    init() throws {
        test = try TestStore(model: TestRow.model)
        caches = CacheEngine(test.store)
        let order = try TestOrder(hasSections: true).request()
        own = CacheRequest(name: "rows", order: order)
        var identity = order.identity
        identity.sort += " other"
        other = CacheRequest(name: "rows", order: OrderRequest(builder: order.builder, identity: identity))
        try test.write { writer in
            let record = try TestRow(group: "a", rank: 1).record()
            try writer.insert(0, record.span.bytes)
        }
        _ = try caches.open(own)
        _ = try caches.open(CacheRequest(name: "free", order: order))
        try test.write { try CacheDirectory.setLocked(true, "rows", in: $0) }
    }

    private var snapshot: Snapshot { get throws { try test.store.snapshot() } }

    private func damageHeader() throws {
        let name = Array("rows".utf8)
        let junk: [UInt8] = [1, 2, 3]
        try test.write { try $0.view.put(junk.span.bytes, for: name.span.bytes, in: $0.tables.caches) }
    }

    @Test func theLockedRequestOpensAndRebuildsItsCache() throws {
        #expect(try CacheDirectory.isLocked("rows", in: snapshot))
        #expect(try caches.open(own).opened.outcome == .hit)
        #expect(try caches.rebuild(own, .requested).opened.outcome == .rebuilt(.requested))
        try damageHeader()
        #expect(try caches.open(own).opened.outcome == .rebuilt(.damaged))
        #expect(try CacheDirectory.isLocked("rows", in: snapshot))
    }

    /// A request that reads other attributes or depends on other data of ICU isn't another request.
    @Test func otherVersionsOfTheLockedRequestMayReplaceItsCache() throws {
        for part in [\CacheIdentity.reads, \CacheIdentity.collation] {
            var identity = own.order.identity
            identity[keyPath: part] = part == \.reads ? "0:6" : "newer"
            let newer = CacheRequest(
                name: "rows", order: OrderRequest(builder: own.order.builder, identity: identity))
            #expect(try caches.open(newer).opened.outcome != .hit)
            _ = try caches.open(own)
        }
    }

    @Test(arguments: [false, true]) func anotherRequestIsRefusedUntilTheCacheIsUnlocked(isDamaged: Bool) throws {
        if isDamaged { try damageHeader() }
        #expect(throws: CacheError.locked("rows")) { try caches.open(other) }
        #expect(throws: CacheError.locked("rows")) { try caches.rebuild(other, .requested) }
        #expect(throws: CacheError.locked("rows")) {
            try test.write { _ = try caches.open(other, in: $0, for: .establishing) }
        }
        #expect(try caches.open(own).opened.outcome == (isDamaged ? .rebuilt(.damaged) : .hit))
        try test.write { try CacheDirectory.setLocked(false, "rows", in: $0) }
        #expect(try caches.open(other).opened.outcome == .rebuilt(.sortChanged))
    }

    /// If `replacesOthers` is false, a request can't replace the cache of another request, even if it isn't locked.
    @Test func anotherRequestIsRefusedIfItMustNotReplaceTheCache() throws {
        try test.write { try CacheDirectory.setLocked(false, "rows", in: $0) }
        var polite = other
        polite.replacesOthers = false
        #expect(throws: CacheError.locked("rows")) { try caches.open(polite) }
        #expect(try caches.open(own).opened.outcome == .hit)
    }

    @Test func deletingAllCachesIsRefusedIfOneIsLocked() throws {
        #expect(throws: CacheError.locked("rows")) { try caches.directory.delete("rows") }
        #expect(throws: CacheError.locked("rows")) { try caches.directory.delete(nil) }
        #expect(try CacheDirectory.names(in: snapshot) == ["free", "rows"])
        try test.write { try CacheDirectory.setLocked(false, "rows", in: $0) }
        #expect(try caches.directory.delete(nil) == 2)
    }

    @Test func onlyACacheWithAReadableRequestCanBeLocked() throws {
        #expect(throws: CacheError.unknown("none")) {
            try test.write { try CacheDirectory.setLocked(true, "none", in: $0) }
        }
        #expect(throws: CacheError.invalidName("index:x")) {
            try test.write { try CacheDirectory.setLocked(true, "index:x", in: $0) }
        }
        try damageHeader()
        #expect(throws: StoreError.self) { try test.write { try CacheDirectory.setLocked(true, "rows", in: $0) } }
        #expect(try CacheDirectory.isLocked("rows", in: snapshot), "the former lock stays")
    }

    /// While the list of locks is damaged, another request for a cache is refused, and so is the deletion of a cache
    /// that isn't locked. The request of a cache can still open it.
    @Test func aDamagedListOfLocksProtectsLockedAndUnlockedCaches() throws {
        try test.write { try $0.setCacheList(.locked, [9, 9, 9, 9, 9]) }
        #expect(try CacheDirectory.listDefects(in: snapshot).count == 1)
        #expect(try caches.open(own).opened.outcome == .hit)
        #expect(throws: (any Error).self) { try caches.open(other) }
        #expect(throws: (any Error).self) { try caches.directory.delete("free") }
        var report: [String] = []
        try test.write { report = try CacheDirectory.repairLists(in: $0) }
        #expect(report == ["the list of locked caches was damaged: no cache is locked now"])
        #expect(try CacheDirectory.listDefects(in: snapshot) == [])
        #expect(try caches.open(other).opened.outcome == .rebuilt(.sortChanged))
    }
}
