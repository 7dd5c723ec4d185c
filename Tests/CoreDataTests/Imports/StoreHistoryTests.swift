import FetchIndex
import FetchIndexCoreDataFiles
import FetchIndexModels
import FetchIndexTestSupport
import Foundation
import Testing

/// Later copies whose persistent history says what the app has changed: the result is the same as without it.
@Suite struct StoreHistoryTests {
    private let store: ChangedStore
    private let container: PersistentContainer

    init() throws {
        store = try ChangedStore()
        try store.keepHistory()
        container = try PersistentContainer(temporaryWith: Model(entities: []))
        try container.importCoreDataStore(at: store.url)
    }

    @discardableResult
    private func importAgain(_ comment: Comment = "") throws -> CoreDataImport {
        var options = CoreDataImportOptions()
        options.mostDeleted = 100
        let outcome = try container.importCoreDataStore(at: store.url, options: options)
        let fresh = try PersistentContainer(temporaryWith: Model(entities: []))
        let all = try fresh.importCoreDataStore(at: store.url)
        #expect(
            try StoreFiles.contents(of: container).normalized == StoreFiles.contents(of: fresh).normalized, comment)
        #expect(try container.check { _, _ in } == [], comment)
        let counts = outcome.counts
        #expect(counts.inserted + counts.updated + counts.unchanged == all.readCount, comment)
        return outcome
    }

    private var all: Int { get throws { try StoreFiles.contents(of: container).count } }

    private func key(_ table: String, _ random: inout SeededGenerator) throws -> Int64 {
        try store.integers("SELECT Z_PK FROM \(table)").randomElement(using: &random) ?? 1
    }

    /// A change as an app makes it, with links of both sides kept right.
    private func change(_ random: inout SeededGenerator) throws -> String {
        let thing = try key("ZTHING", &random)
        switch Int.random(in: 0..<7, using: &random) {
        case 0:
            return """
                DELETE FROM Z_4LIKED WHERE Z_7LIKED = \(thing);
                DELETE FROM ZTHING WHERE Z_PK = \(thing) AND Z_PK NOT IN (SELECT Z_PK FROM ZTHING WHERE Z_ENT != 9);
                """
        case 1, 2:
            let next = (try store.integers("SELECT max(Z_PK) FROM ZTHING").first ?? 0) + 1
            return
                "INSERT INTO ZTHING (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZSTATE, ZISOPEN) VALUES (\(next), 8, 1, 'new \(next)', 3, 1)"
        case 3:
            return "UPDATE ZTHING SET Z_OPT = Z_OPT + 1, ZTITLE = 't\(random.next() % 9)' WHERE Z_PK = \(thing)"
        case 4:
            return
                "UPDATE ZTHING SET Z_OPT = Z_OPT + 1, ZSHELF = \(try key("ZSHELF", &random)) WHERE Z_ENT < 9 AND Z_PK = \(thing)"
        case 5:
            return "UPDATE ZPERSON SET Z_OPT = Z_OPT + 1, ZSPOUSE = NULL WHERE Z_PK = \(try key("ZPERSON", &random))"
        default: return "DELETE FROM Z_4LIKED WHERE Z_4LIKES = \(try key("ZPERSON", &random))"
        }
    }

    @Test(arguments: 0..<4 as Range<UInt64>) func onlyChangedObjectsAreRead(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var few = 0
        for round in 0..<20 {
            var changes: [String] = []
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                changes.append(try change(&random))
                try store.run(changes[changes.count - 1])
            }
            let outcome = try importAgain("seed \(seed), round \(round): \(changes)")
            if try outcome.readCount < all { few += 1 }
        }
        #expect(few > 15, "seed \(seed): \(few)")
    }

    /// A to-many relationship without an inverse has its links in the other objects' rows, which the history need not name.
    @Test func aChangeOfTheOwnerMayChangeLinksOfOthers() throws {
        try store.run(
            """
            DROP TRIGGER UZNOTE; UPDATE ZNOTE SET Z4NOTES = (SELECT max(Z_PK) FROM ZPERSON) WHERE Z_PK % 2 = 0;
            UPDATE ZPERSON SET Z_OPT = Z_OPT + 1, ZNAME1 = 'owner' WHERE Z_PK = (SELECT max(Z_PK) FROM ZPERSON)
            """)
        #expect(try importAgain().readCount < all)
    }

    @Test func whatOthersChangedHereIsChangedBack() throws {
        let context = container.newContext()
        let things = try context.fetch(FetchRequest<ManagedObject>(entityName: "Item"))
        things[0]["title"] = .string("changed here")
        context.delete(things[1])
        try context.insert("Note")["text"] = .string("only here")
        try context.save()
        let outcome = try importAgain()
        #expect(try outcome.readCount < all)
        #expect(outcome.counts.updated > 0 && outcome.counts.inserted == 1 && outcome.counts.deleted == 1)
        // What another import brought isn't read again.
        let again = try importAgain()
        #expect(again.counts.changed == 0 && again.readCount <= outcome.readCount - 2)
        #expect(again.commit == outcome.commit)
        var options = CoreDataImportOptions()
        options.readsAll = true
        #expect(try container.importCoreDataStore(at: store.url, options: options).readCount == all)
    }

    @Test func allObjectsAreReadIfTheHistoryDoesNotReachBack() throws {
        try store.run("UPDATE ZTHING SET Z_OPT = Z_OPT + 1, ZTITLE = 'x' WHERE Z_PK = (SELECT min(Z_PK) FROM ZTHING)")
        try store.run("DELETE FROM ACHANGE; DELETE FROM ATRANSACTION WHERE Z_PK < (SELECT max(Z_PK) FROM ATRANSACTION)")
        #expect(try importAgain().readCount == all)
        // The app writes without a history.
        try store.run(
            """
            DROP TRIGGER UZTHING;
            UPDATE ZTHING SET Z_OPT = Z_OPT + 1, ZTITLE = 'y' WHERE Z_PK = (SELECT max(Z_PK) FROM ZTHING)
            """)
        #expect(try importAgain().readCount == all)
        // Another store's history may have a transaction of the same number.
        try store.run("UPDATE ATRANSACTION SET ZTIMESTAMP = ZTIMESTAMP + 1")
        #expect(try importAgain().readCount == all)
        var options = CoreDataImportOptions()
        options.decodesArchives = true
        #expect(try container.importCoreDataStore(at: store.url, options: options).readCount == all)
    }

    /// A link to an object that doesn't exist is told at each import, so its holder must be read.
    @Test func allObjectsAreReadWhileTheyBreakRules() throws {
        try store.run("UPDATE ZTHING SET ZSHELF = 999 WHERE Z_PK = (SELECT min(Z_PK) FROM ZTHING WHERE Z_ENT = 7)")
        let broken = try importAgain()
        #expect(try broken.readCount == all)
        #expect(broken.differences.map(\.what).contains("links to objects that are missing"))
        let again = try importAgain()
        #expect(again.differences.map(\.what) == broken.differences.map(\.what))
        try store.run("UPDATE ZTHING SET ZSHELF = NULL WHERE ZSHELF = 999")
        #expect(try importAgain().readCount == all)
        #expect(try importAgain().readCount < all)
    }

    /// A property that was dropped here comes back with the values of all objects.
    @Test(arguments: [("Item", "price"), ("Item", "shelf"), ("Thing", "title")])
    func allObjectsAreReadAfterTheModelHasChangedHere(entity: String, property: String) throws {
        let model = try container.model()
        let changed = Model(
            entities: model.entities.map { other in
                let name = other.name == "Shelf" && property == "shelf" ? "items" : property
                if !model.isSubentity(other, of: entity) && name != "items" { return other }
                return Entity(
                    other.name, other.attributes.filter { $0.name != name },
                    relationships: other.relationships.filter { $0.name != name },
                    unique: other.uniqueAttributes.filter { !$0.contains(name) },
                    indexes: other.indexes.filter { index in !index.keys.contains { $0.attribute == name } },
                    removed: [name], superentity: other.superentity, isAbstract: other.isAbstract)
            })
        try container.migrate(to: changed)
        #expect(try importAgain().readCount == all)
    }

    @Test(arguments: [
        "UPDATE ACHANGE SET ZENTITY = NULL", "UPDATE ACHANGE SET ZENTITYPK = 1.5", "UPDATE ACHANGE SET ZENTITY = 77",
        "UPDATE ACHANGE SET ZTRANSACTIONID = NULL", "DELETE FROM ACHANGE",
        "DELETE FROM ATRANSACTION WHERE Z_PK = (SELECT max(Z_PK) FROM ATRANSACTION)",
        "DELETE FROM ACHANGE WHERE ZTRANSACTIONID = 3; DELETE FROM ATRANSACTION WHERE Z_PK = 3",
        "DROP TABLE ATRANSACTION",
    ])
    func allObjectsAreReadIfTheHistoryIsDamaged(damage: String) throws {
        try store.run(
            """
            UPDATE ZTHING SET Z_OPT = Z_OPT + 1, ZTITLE = 'x' WHERE Z_PK = (SELECT min(Z_PK) FROM ZTHING);
            UPDATE ZLABEL SET Z_OPT = Z_OPT + 1, ZWORD = 'x' WHERE Z_PK = (SELECT min(Z_PK) FROM ZLABEL);
            UPDATE ZCARD SET Z_OPT = Z_OPT + 1, ZNUMBER = 77 WHERE Z_PK = (SELECT min(Z_PK) FROM ZCARD);
            \(damage);
            """)
        #expect(try importAgain("\(damage)").readCount == all)
    }

    /// The number of the topmost entity stands for all of its table.
    @Test func aChangeMayNameASuperentity() throws {
        try store.run(
            """
            UPDATE ZTHING SET Z_OPT = Z_OPT + 1, ZTITLE = 'x' WHERE Z_PK = (SELECT min(Z_PK) FROM ZTHING WHERE Z_ENT = 7);
            UPDATE ACHANGE SET ZENTITY = 6;
            """)
        #expect(try importAgain().counts.updated == 1)
    }

    /// An attribute with a value that isn't an archive stays bytes, whichever objects are read.
    @Test func allObjectsAreReadWhileAValueCannotBeDecoded() throws {
        var options = CoreDataImportOptions()
        options.decodesArchives = true
        func importDecoding() throws -> CoreDataImport {
            try container.importCoreDataStore(at: store.url, options: options)
        }
        try store.run("UPDATE ZPERSON SET ZARCHIVE = x'00' WHERE Z_PK = (SELECT min(Z_PK) FROM ZPERSON)")
        _ = try importDecoding()
        let type = try container.model().entity(named: "Person")?.attributes.first { $0.name == "archive" }?.type
        #expect(type == .data)
        try store.run("UPDATE ZPERSON SET Z_OPT = Z_OPT + 1 WHERE Z_PK = (SELECT max(Z_PK) FROM ZPERSON)")
        #expect(try importDecoding().readCount == all)
        #expect(try container.model().entity(named: "Person")?.attributes.first { $0.name == "archive" }?.type == type)
    }

    @Test func allObjectsAreReadIfAFileIsLost() throws {
        let folder = store.url.deletingLastPathComponent().path + "/.App_SUPPORT/_EXTERNAL_DATA/"
        let name = try #require(FileManager.default.contentsOfDirectory(atPath: folder).sorted().first)
        try FileManager.default.removeItem(atPath: folder + name)
        let outcome = try importAgain()
        #expect(outcome.counts.updated == 1)
        #expect(try outcome.readCount == all)
    }

    @Test func valuesThatAreUniqueNoMoreAreTold() throws {
        try store.run("UPDATE ZLABEL SET ZWORD = (SELECT min(ZWORD) FROM ZLABEL)")
        let outcome = try importAgain()
        #expect(outcome.differences.contains { $0.what.hasPrefix("uniqueness") }, "\(outcome.differences)")
    }
}
