import FetchIndex
import FetchIndexCoreDataFiles
import FetchIndexInspection
import FetchIndexModels
import FetchIndexTestSupport
import FetchIndexValues
import Foundation
import Testing

/// Stores whose models are beside them, with the names that apps give.
@Suite struct AppModelTests {
    private let store: ChangedStore
    private let container: PersistentContainer
    private static let keys = "Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER"

    init() throws {
        store = try ChangedStore(copyOf: nil)
        container = try PersistentContainer(temporaryWith: Model())
    }

    /// Makes a new store of these entities, which are numbered by their order.
    private func make(_ entities: [String], _ statements: String) throws {
        try? FileManager.default.removeItem(at: store.url)
        var start = """
            CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
            CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
            INSERT INTO Z_METADATA VALUES (1, '5E9C1F1B-0A51-4D3C-8D4C-2C3E4B5A6978', NULL);
            """
        for (index, entity) in entities.enumerated() {
            start += "INSERT INTO Z_PRIMARYKEY VALUES (\(index + 1), '\(entity)', 0, 100);"
        }
        try store.run(start + statements)
    }

    /// Writes a version of a model, or a bundle of several, whose last version is the current one.
    private func model(_ versions: String...) throws -> URL {
        let url = URL(fileURLWithPath: store.folder.path + "/App.xcdatamodeld")
        try? FileManager.default.removeItem(at: url)
        for (index, entities) in versions.enumerated() {
            let version = url.appendingPathComponent("\(index).xcdatamodel")
            try FileManager.default.createDirectory(at: version, withIntermediateDirectories: true)
            try Data("<model>\(entities)</model>".utf8).write(to: version.appendingPathComponent("contents"))
        }
        let name = "<key>_XCCurrentVersionName</key><string>\(versions.count - 1).xcdatamodel</string>"
        try Data("<plist><dict>\(name)</dict></plist>".utf8).write(to: url.appendingPathComponent(".xccurrentversion"))
        return url
    }

    private static func attribute(_ name: String, _ type: String = "String", from former: String? = nil) -> String {
        let former = former.map { " elementID=\"\($0)\"" } ?? ""
        return "<attribute name=\"\(name)\" optional=\"YES\" attributeType=\"\(type)\"\(former)/>"
    }

    @discardableResult
    private func load(_ model: URL, isStrict: Bool = false) throws -> CoreDataImport {
        var options = CoreDataImportOptions()
        (options.model, options.isStrict) = (model, isStrict)
        return try container.importCoreDataStore(at: store.url, options: options)
    }

    private func values(_ id: String) throws -> [String: String?] {
        try #require(StoreFiles.contents(of: container).first { $0.id == id }).values
    }

    /// The renaming identifier stays in the model, also after the store here has followed it.
    @Test func aRenamedAttributeIsRenamedOnce() throws {
        let rows = "INSERT INTO ZA VALUES (1, 1, 1, 'q1', 't1'), (2, 1, 1, 'q2', 't2');"
        try make(["A"], "CREATE TABLE ZA (\(Self.keys), ZQ VARCHAR, ZT VARCHAR);" + rows)
        try load(model("<entity name='A'>\(Self.attribute("q"))\(Self.attribute("t"))</entity>"))
        let renamed = "<entity name='A'>\(Self.attribute("v", from: "q"))\(Self.attribute("t"))</entity>"
        try store.run("ALTER TABLE ZA RENAME ZQ TO ZV")
        try load(model(renamed))
        for key in 3...5 {
            let commit = try container.information().commit
            try store.run("INSERT INTO ZA VALUES (\(key), 1, 1, 'q\(key)', 't\(key)')")
            let outcome = try load(model(renamed))
            #expect(outcome.counts.inserted == 1 && outcome.counts.updated == 0 && outcome.commit == commit + 1)
        }
        #expect(try values("A/p2") == ["v": "q2", "t": "t2"])
        #expect(try container.check { _, _ in } == [])
    }

    /// An attribute, a relationship and an entity have former names that others have now.
    @Test func formerNamesMayBeUsedAgain() throws {
        func statements(_ value: String, _ target: Int) -> String {
            """
            CREATE TABLE ZNEW (\(Self.keys), ZA VARCHAR, ZZ VARCHAR, ZP INTEGER, ZR INTEGER);
            CREATE TABLE ZOLD (\(Self.keys), ZA VARCHAR);
            INSERT INTO ZNEW VALUES (1, 1, 1, '\(value)', 'z', \(target), 1), (2, 1, 1, NULL, NULL, NULL, NULL);
            INSERT INTO ZOLD VALUES (1, 2, 1, 'o\(value)');
            """
        }
        func reference(_ name: String, from former: String) -> String {
            let rest = "optional='YES' maxCount='1' deletionRule='Nullify' destinationEntity='New'"
            return "<relationship name='\(name)' \(rest) elementID='\(former)'/>"
        }
        let url = try model(
            """
            <entity name='New' elementID='Old'>\(Self.attribute("a"))\(Self.attribute("z", from: "a"))
            \(reference("p", from: "p"))\(reference("r", from: "p"))</entity><entity name='Old'>\(Self.attribute("a"))</entity>
            """)
        for (value, target) in [("x", 1), ("y", 2), ("y", 2)] {
            try make(["New", "Old"], statements(value, target))
            try load(url)
            #expect(try values("New/p1") == ["a": value, "z": "z"] && values("Old/p1") == ["a": "o\(value)"])
            let related = try StoreFiles.contents(of: container).first { $0.id == "New/p1" }?.related
            #expect(related?["p"] == ["New/p\(target)"] && related?["r"] == ["New/p1"])
        }
    }

    /// The usual way to change a type: the old attribute gets another name.
    @Test func aNewAttributeMayTakeTheNameOfARenamedOne() throws {
        try make(["A"], "CREATE TABLE ZA (\(Self.keys), ZDATE VARCHAR); INSERT INTO ZA VALUES (1, 1, 1, '2020')")
        try load(model("<entity name='A'>\(Self.attribute("date"))</entity>"))
        try make(
            ["A"],
            "CREATE TABLE ZA (\(Self.keys), ZDATE TIMESTAMP, ZDATESTRING VARCHAR); INSERT INTO ZA VALUES (1, 1, 1, 5.0, '2020')"
        )
        let url = try model(
            "<entity name='A'>\(Self.attribute("dateString", from: "date"))\(Self.attribute("date", "Date"))</entity>")
        try load(url)
        let bits = "\((5.0).bitPattern)"
        #expect(try values("A/p1") == ["dateString": "2020", "date": bits])
        #expect(try load(url).counts.unchanged == 1)
    }

    /// An attribute is renamed, and a later version uses its old name again: in the entity itself, or in a subentity.
    @Test(arguments: [false, true]) func aLaterVersionMayUseAnOldNameAgain(isInSubentity: Bool) throws {
        func version(_ own: String, _ sub: String) throws -> URL {
            try model("<entity name='A'>\(own)</entity><entity name='B' parentEntity='A'>\(sub)</entity>")
        }
        let renamed = Self.attribute("z", from: "q")
        let again = Self.attribute("q")
        try make(["A", "B"], "CREATE TABLE ZA (\(Self.keys), ZQ VARCHAR); INSERT INTO ZA VALUES (1, 2, 1, 'old')")
        try load(version(Self.attribute("q"), ""))
        try store.run("ALTER TABLE ZA RENAME ZQ TO ZZ")
        try load(version(renamed, ""))
        try store.run("ALTER TABLE ZA ADD ZQ VARCHAR; UPDATE ZA SET ZQ = 'new'")
        for _ in 0..<2 {
            try load(isInSubentity ? version(renamed, again) : version(renamed + again, ""))
            #expect(try values("B/p1") == ["z": "old", "q": "new"])
        }
        #expect(try container.check { _, _ in } == [])
        // A part of the store, and then all of it.
        let other = try PersistentContainer(temporaryWith: Model())
        var options = CoreDataImportOptions()
        (options.model, options.without) = (try version(renamed, again), isInSubentity ? ["B"] : [])
        try other.importCoreDataStore(at: store.url, options: options)
        options.without = []
        try other.importCoreDataStore(at: store.url, options: options)
        #expect(try StoreFiles.contents(of: other) == StoreFiles.contents(of: container))
    }

    @Test func aRenamedPropertyMayTakeThePlaceOfADroppedOne() throws {
        try make(
            ["A"], "CREATE TABLE ZA (\(Self.keys), ZR VARCHAR, ZS VARCHAR); INSERT INTO ZA VALUES (1, 1, 1, 'r', 's')")
        try load(model("<entity name='A'>\(Self.attribute("r"))\(Self.attribute("s"))</entity>"))
        try make(["A"], "CREATE TABLE ZA (\(Self.keys), ZR VARCHAR); INSERT INTO ZA VALUES (1, 1, 1, 's')")
        try load(model("<entity name='A'>\(Self.attribute("r", from: "s"))</entity>"))
        #expect(try values("A/p1") == ["r": "s"])
    }

    @Test func anEntityMayBecomeAbstractWithoutObjects() throws {
        let rows = "CREATE TABLE ZA (\(Self.keys), ZR VARCHAR); INSERT INTO ZA VALUES (2, 2, 1, 'b'), (3, 2, 1, 'c')"
        try make(["A", "B"], rows + ", (1, 1, 1, 'a')")
        try load(model("<entity name='A'>\(Self.attribute("r"))</entity><entity name='B' parentEntity='A'/>"))
        try make(["A", "B"], rows)
        let abstract =
            "<entity name='A' isAbstract='YES'>\(Self.attribute("r"))</entity><entity name='B' parentEntity='A'/>"
        try load(model(abstract))
        #expect(try container.model().entity(named: "A")?.isAbstract == true)
        #expect(try StoreFiles.contents(of: container).map(\.id).sorted() == ["B/p2", "B/p3"])
    }

    /// Values that differ in the store, but not here: a UUID as bytes and as a text. And a text that is too long only as a key.
    @Test(arguments: [
        ("UUID", "x'5E9C1F1B0A514D3C8D4C2C3E4B5A6978'", "'5E9C1F1B-0A51-4D3C-8D4C-2C3E4B5A6978'"),
        ("String", "CAST(zeroblob(300) AS TEXT)", "'short'"),
    ])
    func uniquenessThatIsDroppedStaysDropped(type: String, first: String, second: String) throws {
        try make(
            ["A"],
            "CREATE TABLE ZA (\(Self.keys), ZN VARCHAR); INSERT INTO ZA VALUES (1, 1, 1, \(first)), (2, 1, 1, \(second))"
        )
        let unique =
            "<uniquenessConstraints><uniquenessConstraint><constraint value='n'/></uniquenessConstraint></uniquenessConstraints>"
        let url = try model("<entity name='A'>\(Self.attribute("n", type))\(unique)</entity>")
        if type == "String" {
            var options = CoreDataImportOptions()
            options.model = url
            let planned = try CoreDataStore(contentsOf: store.url, options: options).differences.map(\.description)
            #expect(planned == ["changed: uniqueness of values of more than 400 bytes, which is dropped (1): A.n"])
        }
        for _ in 0..<2 {
            let outcome = try load(url)
            #expect(outcome.differences.contains { $0.what.hasPrefix("uniqueness of values") })
        }
        try store.run("UPDATE ZA SET ZN = NULL WHERE Z_PK = 1")
        #expect(try load(url).differences.contains { $0.what.hasPrefix("uniqueness") } == false)
        #expect(try container.model().entity(named: "A")?.attributes[0].isUnique == true)
    }

    @Test func theVersionWithoutUnknownColumnsFits() throws {
        func version(_ names: String...) -> String {
            "<entity name='A'>\(names.map { Self.attribute($0) }.joined())</entity>"
        }
        try make(
            ["A"],
            "CREATE TABLE ZA (\(Self.keys), ZT VARCHAR, ZPAGES VARCHAR); INSERT INTO ZA VALUES (1, 1, 1, 't', 'p')")
        let all = try model(version("t"), version("t", "pages"), version("t", "pages", "isbn"))
        #expect(try load(all, isStrict: true).differences.isEmpty)
        #expect(try values("A/p1") == ["t": "t", "pages": "p"])
        // The first version alone lacks a column.
        let first = try load(model(version("t"))).differences.map(\.description)
        #expect(first == ["left out: columns that the model does not have (1): ZA.ZPAGES"])
    }

    @Test func objectsWithoutAnEntityInTheModelAreTold() throws {
        try make(
            ["A", "Gone", "Old", "Empty"],
            """
            CREATE TABLE ZA (\(Self.keys), ZT VARCHAR); CREATE TABLE ZB (\(Self.keys));
            CREATE TABLE ZOLD (\(Self.keys)); CREATE TABLE ZEMPTY (\(Self.keys));
            INSERT INTO ZA VALUES (1, 1, 1, 't'), (2, 2, 1, 't'); INSERT INTO ZOLD VALUES (1, 3, 1);
            """)
        let part = "<entity name='B' parentEntity='A'/>"
        let url = try model("<entity name='A'>\(Self.attribute("t"))</entity>\(part)")
        let error = #expect(throws: CoreDataFileError.self) { try load(url, isStrict: true) }
        #expect(error?.remedy == .isStrict)
        let told = try load(url).differences.map(\.description)
        #expect(told.contains("left out: objects of an unknown entity (1): ZA 2"), "\(told)")
        #expect(told.contains("left out: tables of objects that the model does not have (1): ZOLD"), "\(told)")
    }

    @Test func twoRowsWithAKeyAreRefused() throws {
        try make(
            ["A"],
            "CREATE TABLE ZA (Z_PK INTEGER, Z_ENT INTEGER, Z_OPT INTEGER, ZT VARCHAR); INSERT INTO ZA VALUES (5, 1, 1, 'a'), (5, 1, 1, 'b')"
        )
        let error = #expect(throws: CoreDataFileError.self) {
            try load(model("<entity name='A'>\(Self.attribute("t"))</entity>"))
        }
        #expect(error?.reason == "ZA has two rows with the key 5")
    }

    // MARK: Swift classes

    /// A property wrapper has the property's name after an underscore.
    @Test func propertiesDoNotTakeTheNamesOfWrappers() {
        let names = ["name", "_name", "_", "__name"]
        let source = SwiftClasses(Model(entities: [Entity("A", names.map { AttributeDescription($0, .string) })]))
            .source
        let declared = source.matches(of: /var `?(\w+)`?:/).map { String($0.1) }
        #expect(declared.count == 4 && Set(declared + declared.map { "_" + $0 }).count == 8, "\(source)")
    }
}
