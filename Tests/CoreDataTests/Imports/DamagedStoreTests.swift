import FetchIndex
import FetchIndexCoreDataFiles
import FetchIndexModels
import FetchIndexTestSupport
import Foundation
import Testing

/// Stores that are cut off or changed are imported, or refused with an error, and nothing is written beside them.
@Suite struct DamagedStoreTests {
    private let empty = Model(entities: [])

    @Test(arguments: 0..<4 as Range<UInt64>) func damagedStoresDoNotTrap(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let store = try ChangedStore(copyOf: seed % 2 == 0 ? "Shop" : "Shop2")
        let log = URL(fileURLWithPath: store.url.path + "-wal")
        if seed % 2 == 1 {
            try FileManager.default.copyItem(at: StoreFiles.folder.appendingPathComponent("Shop2.sqlite-wal"), to: log)
        }
        let originals = [store.url, log].map { (try? Data(contentsOf: $0)) ?? Data() }
        let names = try FileManager.default.contentsOfDirectory(atPath: store.folder.path).sorted()
        for round in 0..<60 {
            for (url, original) in zip([store.url, log], originals) where !original.isEmpty {
                try Data([UInt8](original).damaged(round, &random)).write(to: url)
            }
            var options = CoreDataImportOptions()
            options.salvages = round % 3 != 0
            let container = try PersistentContainer(temporaryWith: empty)
            do { _ = try container.importCoreDataStore(at: store.url, options: options) } catch {
                #expect(!"\(error)".isEmpty)
                #expect(try container.model().entities.isEmpty)
            }
            #expect(try container.check { _, _ in } == [], "seed \(seed), round \(round)")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: store.folder.path).sorted() == names)
    }

    /// A few pages of a table are overwritten. The rows of the other pages come back.
    @Test(arguments: 0..<5 as Range<UInt64>) func rowsOfIntactPagesAreSalvaged(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let store = try ChangedStore()
        try store.run(
            """
            WITH RECURSIVE n(k) AS (SELECT 1000 UNION ALL SELECT k + 1 FROM n WHERE k < 20999)
            INSERT INTO ZLABEL (Z_PK, Z_ENT, Z_OPT, ZWORD) SELECT k, 2, 1, 'word ' || k FROM n;
            UPDATE Z_PRIMARYKEY SET Z_MAX = 20999 WHERE Z_NAME = 'label';
            """)
        var bytes = [UInt8](try Data(contentsOf: store.url))
        let pages = bytes.count / 4096
        // The rows that were added are behind the pages of the other tables.
        for _ in 0..<3 {
            let page = Int.random(in: pages / 2..<pages, using: &random)
            for offset in page * 4096..<(page + 1) * 4096 { bytes[offset] = UInt8.random(in: 0...255, using: &random) }
        }
        try Data(bytes).write(to: store.url)
        let container = try PersistentContainer(temporaryWith: empty)
        #expect(throws: CoreDataFileError.self) { try container.importCoreDataStore(at: store.url) }
        var options = CoreDataImportOptions()
        options.salvages = true
        let outcome = try container.importCoreDataStore(at: store.url, options: options)
        let labels = try container.newContext(isolation: nil).count(
            for: FetchRequest<ManagedObject>(entityName: "label"))
        #expect(labels > 19_000 && labels < 20_100, "seed \(seed)")
        #expect(outcome.differences.contains { $0.what == "rows that cannot be read" })
        #expect(try container.check { _, _ in } == [])
    }
}

extension [UInt8] {
    /// The bytes, cut off in each fourth round, otherwise with some of them changed.
    func damaged(_ round: Int, _ random: inout SeededGenerator) -> [UInt8] {
        var bytes = self
        if round % 4 == 0 {
            bytes.removeLast(Int.random(in: 0...bytes.count, using: &random))
        } else {
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
        }
        return bytes
    }
}
