import FetchIndex
import FetchIndexCoreDataFiles
import FetchIndexModels
import FetchIndexTestSupport
import Foundation
import Testing

/// Stores whose objects break rules of their models, and what is told about them.
@Suite struct BrokenRulesTests {
    private let store: ChangedStore
    private let container: PersistentContainer

    init() throws {
        store = try ChangedStore()
        container = try PersistentContainer(temporaryWith: Model(entities: []))
    }

    /// Imports the store after a change, and returns what is told beside what the model causes.
    private func told(
        _ change: String, _ options: CoreDataImportOptions = CoreDataImportOptions()
    ) throws -> [String] {
        try store.run(change)
        let outcome = try container.importCoreDataStore(at: store.url, options: options)
        #expect(try container.check { _, _ in } == [])
        let ofModel = [
            "to-many relationships without an inverse, which get one", "transformable attributes",
            "transient attributes",
        ]
        return outcome.differences.filter { !ofModel.contains($0.what) }.map(\.description)
    }

    private func object(_ id: String) throws -> StoreFiles.Expected? {
        try StoreFiles.contents(of: container).first { $0.id == id }
    }

    @Test func requiredPropertiesThatObjectsLackBecomeOptional() throws {
        let told = try told(
            """
            UPDATE ZTHING SET ZTITLE = NULL WHERE Z_PK = (SELECT min(Z_PK) FROM ZTHING WHERE Z_ENT = 9);
            UPDATE ZCARD SET ZOWNER = NULL WHERE Z_PK = 1;
            """)
        #expect(
            told.count == 1
                && told[0].hasPrefix("changed: required properties that objects lack, which become optional (2): "))
        let model = try container.model()
        for entity in ["Thing", "Item", "Special", "Service"] {
            #expect(model.entity(named: entity)?.attributes.first { $0.name == "title" }?.isOptional == true)
        }
        #expect(try object("Card/p1")?.related["owner"] == [])
    }

    @Test func linksToMissingObjectsAreLeftOut() throws {
        let item = try store.integers("SELECT min(Z_PK) FROM ZTHING WHERE Z_ENT = 7")[0]
        let told = try told(
            """
            UPDATE ZTHING SET ZSHELF = 999 WHERE Z_PK = \(item);
            INSERT INTO Z_4BOUGHT VALUES (999, \(item)), (1, 998);
            """)
        #expect(
            told == [
                "left out: links to objects that are missing (3): Item/p\(item).shelf, Item.sold \(item)-999, Item.sold 998-1"
            ])
        #expect(try object("Item/p\(item)")?.related["shelf"] == [])
    }

    /// Each import reads the same, whichever object's link is missing.
    @Test func linksThatOnlyOneObjectHasAreLeftOutWhereARelationshipIsItsOwnInverse() throws {
        let keys = try store.integers(
            "SELECT Z_PK FROM ZPERSON WHERE ZSPOUSE IS NOT NULL AND ZSPOUSE <> Z_PK ORDER BY 1")
        let (one, other) = (keys[0], try store.integers("SELECT ZSPOUSE FROM ZPERSON WHERE Z_PK = \(keys[0])")[0])
        let told = try told("UPDATE ZPERSON SET ZSPOUSE = NULL WHERE Z_PK = \(other)")
        #expect(
            told == [
                "left out: links that only one of the two objects has, in relationships that are their own inverses (1): "
                    + "Person/p\(one).spouse"
            ])
        for key in [one, other] { #expect(try object("Person/p\(key)")?.related["spouse"] == []) }
        let commit = try container.importCoreDataStore(at: store.url).commit
        #expect(try container.importCoreDataStore(at: store.url).commit == commit)
    }

    /// An item's key isn't a person's, and a service isn't an item.
    @Test func linksToObjectsOfAnotherEntityAreLeftOut() throws {
        let (item, service) = (
            try store.integers("SELECT min(Z_PK) FROM ZTHING WHERE Z_ENT = 7")[0],
            try store.integers("SELECT min(Z_PK) FROM ZTHING WHERE Z_ENT = 9")[0]
        )
        let told = try told(
            "INSERT INTO Z_4BOUGHT VALUES (1, \(service)); DELETE FROM Z_4BOUGHT WHERE Z_7BOUGHT = \(item)")
        #expect(told == ["left out: links to objects that are missing (1): Item.sold \(service)-1"])
    }

    @Test func valuesOfOtherTypesBecomeNull() throws {
        let keys = try store.integers("SELECT Z_PK FROM ZTHING WHERE Z_ENT = 8 ORDER BY 1")
        let told = try told(
            """
            UPDATE ZTHING SET ZPRICE = 'NaN' WHERE Z_PK = \(keys[0]);
            UPDATE ZTHING SET ZPRICE = '12.5' WHERE Z_PK = \(keys[1]);
            UPDATE ZTHING SET ZPRICE = x'00' WHERE Z_PK = \(keys[2]);
            UPDATE ZTHING SET ZSTATE2 = 'many' WHERE Z_PK = \(keys[0]);
            UPDATE ZTHING SET ZSTATE2 = 2.0 WHERE Z_PK = \(keys[1]);
            UPDATE ZPERSON SET ZPAGE = 'not a URL' WHERE Z_PK = 1;
            UPDATE ZPERSON SET ZID = '5E9C1F1B-0A51-4D3C-8D4C-2C3E4B5A6978' WHERE Z_PK = 1;
            """)
        #expect(
            told == [
                "left out: values that are not a url, which become null (1): Person/p1.page",
                "left out: decimals that are not a number, which become null (1): Special/p\(keys[0]).price",
                "left out: values that are not an integer, which become null (1): Special/p\(keys[0]).STATE",
                "left out: values that are not a decimal, which become null (1): Special/p\(keys[2]).price",
            ], "\(told)")
        #expect(try object("Special/p\(keys[1])")?.values["price"] == "12.5")
        #expect(try object("Special/p\(keys[1])")?.values["STATE"] == "2")
        #expect(try object("Person/p1")?.values["id"] == "5E9C1F1B-0A51-4D3C-8D4C-2C3E4B5A6978")
    }

    @Test func missingFilesOfLargeValuesAreTold() throws {
        let support = store.url.deletingLastPathComponent().appendingPathComponent(".App_SUPPORT")
        let count = try store.integers("SELECT count(*) FROM ZTHING WHERE substr(ZPICTURE, 1, 1) = x'02'")[0]
        try FileManager.default.removeItem(at: support)
        let told = try told("")
        #expect(told.count == 1)
        #expect(
            told.first?.hasPrefix(
                "left out: values whose files beside the store cannot be read, which become null (\(count)): ")
                ?? false)
    }

    /// A name that leads out of the folder would be another file's content.
    @Test func onlyFilesOfLargeValuesAreRead() throws {
        let item = try store.integers("SELECT min(Z_PK) FROM ZTHING WHERE Z_ENT = 7")[0]
        let path = "../../../../../../../../etc/passwd".utf8.map { String($0, radix: 16) }.joined()
        let told = try told("UPDATE ZTHING SET ZPICTURE = x'02\(path)00' WHERE Z_PK = \(item)")
        #expect(
            told == [
                "left out: values whose files beside the store cannot be read, which become null (1): Item/p\(item).picture"
            ])
    }

    @Test func objectsWithoutAnEntityAreLeftOut() throws {
        let told = try told(
            """
            INSERT INTO ZTHING (Z_PK, Z_ENT, ZTITLE) VALUES (900, 77, 'x'), (901, NULL, 'y'), (902, 6, 'z'), (-1, 7, 'w');
            UPDATE ZLABEL SET Z_ENT = 99;
            """)
        #expect(
            told == [
                "left out: objects whose number is not from 1 (1): ZTHING -1",
                "left out: objects of an unknown entity (2): ZTHING 900, ZTHING 901",
                "left out: objects of abstract entities (1): Thing/p902",
            ], "\(told)")
        // The table has labels only, so their numbers of entities don't matter.
        #expect(try StoreFiles.contents(of: container).contains { $0.id == "label/p1" })
    }

    @Test func brokenUniquenessIsDropped() throws {
        let told = try told("UPDATE ZLABEL SET ZWORD = 'same'; UPDATE ZCARD SET ZOWNER = 1 WHERE Z_PK IN (1, 2)")
        #expect(told[0] == "changed: uniqueness of values that occur twice, which is dropped (1): label.word")
        #expect(try container.model().entity(named: "label")?.attributes.map(\.isUnique) == [false])
        #expect(try container.model().entity(named: "Card")?.attributes.map(\.isUnique) == [true])
    }

    @Test func twoObjectsCannotHaveTheSameOne() throws {
        let told = try told("UPDATE ZCARD SET ZOWNER = 1 WHERE Z_PK IN (1, 2)")
        #expect(
            told.contains {
                $0.hasPrefix("left out: links to objects that another one has, in one-to-one relationships (")
            }, "\(told)")
    }

    @Test func longUniqueValuesAreKeptWithoutUniqueness() throws {
        let told = try told("UPDATE ZLABEL SET ZWORD = ZWORD || hex(zeroblob(300)) WHERE Z_PK = 1")
        #expect(told == ["changed: uniqueness of values of more than 400 bytes, which is dropped (1): label.word"])
    }

    @Test func missingTablesAndColumnsAreTold() throws {
        let told = try told("DROP TABLE Z_4BOUGHT; ALTER TABLE ZTHING DROP COLUMN ZWEIGHT; DROP TABLE ZNOTE")
        #expect(
            told == [
                "left out: objects of entities without a table (1): Note",
                "left out: properties without a column (2): Special.weight, Item.sold",
            ], "\(told)")
    }

    @Test func strictImportsAreRefusedBeforeAnythingIsWritten() throws {
        var options = CoreDataImportOptions()
        options.isStrict = true
        let error = #expect(throws: CoreDataFileError.self) {
            try container.importCoreDataStore(at: store.url, options: options)
        }
        #expect(error?.reason.hasPrefix("not all of it can be taken over: changed: to-many relationships") ?? false)
        #expect(try container.model().entities.isEmpty)
    }

    @Test func anotherStoreIsRefusedUnlessItIsTheSame() throws {
        try container.importCoreDataStore(at: store.url)
        try store.run("UPDATE Z_METADATA SET Z_UUID = '11111111-1111-4111-8111-111111111111'")
        let error = #expect(throws: CoreDataFileError.self) { try container.importCoreDataStore(at: store.url) }
        #expect(
            error?.reason
                == "it is the store 11111111-1111-4111-8111-111111111111, but the imported one is 5E9C1F1B-0A51-4D3C-8D4C-2C3E4B5A6978"
        )
        var options = CoreDataImportOptions()
        options.hasSameIdentity = true
        #expect(try container.importCoreDataStore(at: store.url, options: options).counts.changed == 0)
        // From now on, this identifier is the store's.
        #expect(try container.importCoreDataStore(at: store.url).counts.changed == 0)
    }

    @Test func tooManyDeletionsAreRefused() throws {
        try container.importCoreDataStore(at: store.url)
        let before = try StoreFiles.contents(of: container)
        try store.run("DELETE FROM ZTHING; DELETE FROM ZPERSON")
        var options = CoreDataImportOptions()
        options.mostDeleted = 10
        let error = #expect(throws: CoreDataFileError.self) {
            try container.importCoreDataStore(at: store.url, options: options)
        }
        #expect(error?.reason.hasSuffix("stored objects, more than 10 per cent") ?? false, "\(error?.reason ?? "")")
        #expect(try StoreFiles.contents(of: container).normalized == before.normalized)
        options.mostDeleted = 100
        try container.importCoreDataStore(at: store.url, options: options)
        #expect(try StoreFiles.contents(of: container).allSatisfy { !$0.id.hasPrefix("Person") })
    }

    @Test func entitiesCanBeChosen() throws {
        var options = CoreDataImportOptions()
        options.entities = ["Item", "Shelf"]
        options.without = ["Special"]
        let outcome = try container.importCoreDataStore(at: store.url, options: options)
        #expect(try container.model().entities.map(\.name).sorted() == ["Item", "Shelf", "Thing"])
        let left = outcome.differences.first { $0.what == "relationships to entities that are left out" }
        #expect(left?.names == ["Item.likes", "Item.sold", "Thing.labels"])
        let expected = try StoreFiles.expected("Shop")
        for line in try StoreFiles.contents(of: container).normalized where line.id.hasPrefix("Item") {
            #expect(line.values == expected.normalized.first { $0.id == line.id }?.values)
        }
        options.entities = ["Itme"]
        let error = #expect(throws: CoreDataFileError.self) {
            try container.importCoreDataStore(at: store.url, options: options)
        }
        #expect(error?.reason.hasPrefix("its model has no entity Itme, only Card, ") ?? false)
    }

    /// The store's own model says which entity it is by its place; another model doesn't.
    @Test func entitiesWithOtherNamesAreTakenByTheirPlaceInTheStoresOwnModel() throws {
        let told = try told("UPDATE Z_PRIMARYKEY SET Z_NAME = 'Word' WHERE Z_NAME = 'label'")
        #expect(told == ["changed: entities that have another name in the store (1): label (Word)"])
        #expect(try StoreFiles.contents(of: container).contains { $0.id.hasPrefix("label/") })
        let other = try ChangedStore()
        try other.run("DELETE FROM Z_MODELCACHE; UPDATE Z_PRIMARYKEY SET Z_NAME = 'Word' WHERE Z_NAME = 'label'")
        var options = CoreDataImportOptions()
        options.model = StoreFiles.model
        let differences = try CoreDataStore(contentsOf: other.url, options: options).differences.map(\.description)
        #expect(differences.contains("left out: objects of entities without a table (1): label"), "\(differences)")
    }

    /// What a copy has corrected is a rule again.
    @Test func correctedCopiesMakePropertiesRequiredAndUniqueAgain() throws {
        _ = try told(
            "UPDATE ZTHING SET ZTITLE = NULL WHERE Z_ENT = 9; UPDATE ZLABEL SET ZWORD = 'same'; UPDATE ZCARD SET ZOWNER = NULL"
        )
        let told = try told(
            "UPDATE ZTHING SET ZTITLE = 'title'; UPDATE ZLABEL SET ZWORD = 'word ' || Z_PK; UPDATE ZCARD SET ZOWNER = (SELECT Z_PK FROM ZPERSON WHERE ZPERSON.ZCARD = ZCARD.Z_PK)"
        )
        #expect(!told.contains { $0.contains("required") || $0.contains("uniqueness") }, "\(told)")
        let model = try container.model()
        #expect(model.entity(named: "label")?.attributes.map(\.isUnique) == [true])
        #expect(model.entity(named: "Item")?.attributes.first { $0.name == "title" }?.isOptional == false)
        #expect(model.entity(named: "Card")?.relationships.map(\.isOptional) == [false])
    }

    /// Two texts that differ only in bytes that aren't UTF-8 are one text here.
    @Test func uniquenessThatConvertedValuesBreakIsDropped() throws {
        let keys = try store.integers("SELECT Z_PK FROM ZLABEL ORDER BY 1")
        let told = try told(
            """
            UPDATE ZLABEL SET ZWORD = CAST(x'61ff' AS TEXT) WHERE Z_PK = \(keys[0]);
            UPDATE ZLABEL SET ZWORD = CAST(x'61fe' AS TEXT) WHERE Z_PK = \(keys[1]);
            """)
        let texts = "texts that are not UTF-8, whose wrong bytes are replaced"
        #expect(
            told == [
                "changed: uniqueness of values that are equal here, or too long, which is dropped (1): label.word",
                "changed: \(texts) (2): label/p\(keys[0]).word, label/p\(keys[1]).word",
            ], "\(told)")
    }
}
