import FetchIndex
import FetchIndexCoreDataFiles
import FetchIndexModels
import FetchIndexTestSupport
import Foundation
import Testing

/// Random changes of a store, each followed by an import: the result is the same as that of a first import.
@Suite struct StoreSeriesTests {
    private let tables = ["ZTHING", "ZLABEL", "ZPERSON", "ZCARD", "ZNOTE", "ZSHELF"]

    /// A random change, as an app or somebody with a database tool would make it.
    private func change(_ store: ChangedStore, _ random: inout SeededGenerator) throws -> String {
        func key(_ table: String) throws -> Int64 {
            try store.integers("SELECT Z_PK FROM \(table)").randomElement(using: &random) ?? 1
        }
        let table = tables.randomElement(using: &random)!
        switch Int.random(in: 0..<12, using: &random) {
        case 0: return "DELETE FROM \(table) WHERE Z_PK = \(try key(table))"
        case 1, 2:
            let next =
                (try store.integers("SELECT max(Z_PK) FROM ZTHING").first ?? 0)
                + Int64.random(in: 1...3, using: &random)
            let entity = Int.random(in: 7...9, using: &random)
            return
                "INSERT INTO ZTHING (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZSTATE, ZISOPEN, ZSHELF) VALUES (\(max(next, 1000 + next)), \(entity), 1, 'new \(next)', 3, 1, \(try key("ZSHELF")))"
        case 3:
            return
                "UPDATE ZTHING SET ZTITLE = 't\(random.next() % 9)', ZPRICE = \(random.next() % 100) WHERE Z_PK = \(try key("ZTHING"))"
        case 4: return "UPDATE ZTHING SET ZSHELF = \(try key("ZSHELF")) WHERE Z_ENT < 9 AND Z_PK = \(try key("ZTHING"))"
        case 5:
            return
                "UPDATE ZSHELF SET ZABOVE = \(try key("ZSHELF")), Z_FOK_ABOVE = \(random.next() % 5 * 1024) WHERE Z_PK = \(try key("ZSHELF"))"
        case 6:
            let (one, other) = (try key("ZLABEL"), try key("ZLABEL"))
            // Two labels exchange their words.
            return
                "UPDATE ZLABEL SET ZWORD = (SELECT ZWORD FROM ZLABEL AS o WHERE o.Z_PK = CASE ZLABEL.Z_PK WHEN \(one) THEN \(other) ELSE \(one) END) WHERE Z_PK IN (\(one), \(other))"
        case 7:
            let (one, other) = (try key("ZCARD"), try key("ZCARD"))
            return
                "UPDATE ZCARD SET ZOWNER = (SELECT ZOWNER FROM ZCARD AS o WHERE o.Z_PK = CASE ZCARD.Z_PK WHEN \(one) THEN \(other) ELSE \(one) END) WHERE Z_PK IN (\(one), \(other))"
        case 8:
            return
                "INSERT OR REPLACE INTO Z_4LIKED VALUES (\(try key("ZPERSON")), \(try key("ZTHING")), \(random.next() % 4 * 1024), \(random.next() % 4 * 1024))"
        case 9: return "DELETE FROM Z_4LIKED WHERE Z_4LIKES = \(try key("ZPERSON"))"
        case 10: return "INSERT OR REPLACE INTO Z_4FRIENDS VALUES (\(try key("ZPERSON")), \(try key("ZPERSON")))"
        default: return "UPDATE ZPERSON SET ZSPOUSE = \(try key("ZPERSON")) WHERE Z_PK = \(try key("ZPERSON"))"
        }
    }

    @Test(arguments: 0..<3 as Range<UInt64>) func laterImportsEqualFirstOnes(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let store = try ChangedStore()
        let empty = Model(entities: [])
        let container = try PersistentContainer(temporaryWith: empty)
        var options = CoreDataImportOptions()
        options.mostDeleted = 100
        try container.importCoreDataStore(at: store.url, options: options)
        for round in 0..<25 {
            var changes: [String] = []
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                changes.append(try change(store, &random))
                try store.run(changes[changes.count - 1])
            }
            let outcome = try container.importCoreDataStore(at: store.url, options: options)
            let fresh = try PersistentContainer(temporaryWith: empty)
            try fresh.importCoreDataStore(at: store.url, options: options)
            let (found, expected) = (try StoreFiles.contents(of: container), try StoreFiles.contents(of: fresh))
            #expect(found.normalized == expected.normalized, "seed \(seed), round \(round): \(changes)")
            #expect(try container.check { _, _ in } == [], "seed \(seed), round \(round): \(changes)")
            #expect(outcome.counts.inserted + outcome.counts.updated + outcome.counts.unchanged == found.count)
            let again = try container.importCoreDataStore(at: store.url, options: options)
            #expect(again.counts.changed == 0 && again.links.changed == 0, "seed \(seed), round \(round): \(changes)")
        }
    }
}
