import FetchIndex
import FetchIndexOrderCaches
import FetchIndexRecords
import FetchIndexTestSupport
import Foundation
import Testing

@testable import FetchIndexLMDB

/// Bytes of a store's pages are changed, so that the checksums of pages, which LMDB 1.0 writes, are wrong.
@Suite(.enabled(if: PageFormat.canHaveChecksums)) struct WrongChecksumTests {
    private let data: [UInt8]
    private let file: DamagedFile

    init() throws {
        data = try SampleStore.shared.get().data
        file = try DamagedFile(data)
    }

    private var url: URL { URL(fileURLWithPath: file.folder.path) }

    /// The places of the values of a table's leaves.
    private func places(in table: String) throws -> [ValuePlace] {
        try file.values().places.filter { $0.table == table && $0.count < 1000 }
    }

    /// Changes a byte in the free room of a leaf with records. Returns the leaf's number.
    private func damageFreeRoom() throws -> Int {
        for place in try places(in: "records") {
            let page = place.offset / DamagedFile.pageSize
            let start = page * DamagedFile.pageSize
            let free = start + DamagedFile.headerLength + 2 * data.nodeCount(ofPageAt: start)
            let end = (0..<data.nodeCount(ofPageAt: start)).map { data.node($0, ofPageAt: start) }.min() ?? 0
            if end - free < 8 { continue }
            try file.write([data[free] ^ 1], at: free)
            return page
        }
        Issue.record("no leaf has free room")
        return 0
    }

    @Test func aNewStoreHasPageChecksumsAndItsCopiesToo() throws {
        let container = try SampleStore.open(file.folder.path)
        #expect(try container.information().lmdb.hasPageChecksums == true)
        let copy = TemporaryFolder()
        try container.checkedBackup(to: URL(fileURLWithPath: copy.path))
        #expect(try SampleStore.open(copy.path).information().lmdb.hasPageChecksums == true)
    }

    /// A fetch that reads a page with a damaged value throws. `check` names the page and the value, and goes on to other
    /// values.
    @Test func aDamagedValueIsNamedWithItsPage() throws {
        let places = try places(in: "records")
        for place in [places[3], places[places.count / 2]] {
            try file.write([data[place.offset + place.count / 2] ^ 0x10], at: place.offset + place.count / 2)
        }
        let defects = try file.defects()
        let wrong = defects.filter { $0.hasSuffix("in table \"records\", it has a wrong checksum") }
        #expect(wrong.count == 2)
        #expect(defects.count { $0.contains("does not match its checksum") } >= 2, "\(defects)")
        #expect {
            let container = try SampleStore.open(file.folder.path)
            try container.withOrder(SampleStore.orders[0].definition, .init()) { try $0.forEachRow { _ in } }
        } throws: { error in
            guard case StoreError.corrupted = error else { return false }
            return true
        }
        let repair = try PersistentContainer.repair(at: url)
        #expect(repair.repairs.isEmpty)
        #expect(repair.left.count { $0.hasSuffix("it has a wrong checksum") } == 2, "\(repair.left)")
        #expect(repair.left.contains { $0.contains("does not match its checksum") }, "\(repair.left)")
    }

    /// A record's checksum doesn't cover its object number. A repair that took a wrong number for a missing object would
    /// delete the references to it.
    @Test func nothingIsRepairedWhereAnObjectMayHaveAWrongNumber() throws {
        let place = try #require(try places(in: "records").last)
        let key = place.offset - PageLayout.linked.storedKeyLength(8)
        try file.write([data[key] ^ 1], at: key)
        let before = try SampleStore.data(in: file.folder)
        let repair = try PersistentContainer.repair(at: url)
        #expect(repair.repairs.isEmpty && repair.left.last?.hasPrefix("nothing is repaired") == true, "\(repair)")
        #expect(try SampleStore.data(in: file.folder) == before)
    }

    @Test func damageThatNoValueHasIsNamedAndACompactionWritesThePageAnew() throws {
        let page = try damageFreeRoom()
        let sentence = "page \(page): in table \"records\", it has a wrong checksum"
        #expect(try PersistentContainer.check(at: url) == [sentence])
        let repair = try PersistentContainer.repair(at: url)
        #expect(repair.defects == [sentence])
        #expect(repair.left.first == sentence)
        #expect(repair.left.last?.hasPrefix("nothing is repaired") == true)
        // All values are whole, but nobody knows that.
        #expect {
            let container = try SampleStore.open(file.folder.path)
            try container.withOrder(SampleStore.orders[0].definition, .init()) { try $0.forEachRow { _ in } }
        } throws: { error in
            "\(error)".contains("the checksum of a page is wrong")
        }
        _ = try PersistentContainer.compact(at: url)
        #expect(try PersistentContainer.check(at: url) == [])
    }

    /// A backup copies values of pages whose checksum is wrong, as it copies damaged values, and checks them.
    @Test func aBackupOfAPageWithAWrongChecksumIsCheckedByItsValues() throws {
        let page = try damageFreeRoom()
        let copy = TemporaryFolder()
        let backup = try SampleStore.open(file.folder.path).checkedBackup(to: URL(fileURLWithPath: copy.path))
        #expect(backup.defects == ["page \(page): in table \"records\", it has a wrong checksum"])
        let place = try places(in: "records")[5]
        try file.write([data[place.offset + 8] ^ 1], at: place.offset + 8)
        #expect(throws: DamagedBackup.self) {
            let copy = TemporaryFolder()
            try SampleStore.open(file.folder.path).checkedBackup(to: URL(fileURLWithPath: copy.path))
        }
    }
}
