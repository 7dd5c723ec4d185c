import FetchIndex
import FetchIndexCoreDataFiles
import FetchIndexInspection
import FetchIndexTestSupport
import Foundation
import Testing

/// Models of Core Data become models of FetchIndex.
@Suite struct ModelFileTests {
    private static let library = Bundle.module.url(forResource: "Models", withExtension: nil)!
        .appendingPathComponent("Library.xcdatamodeld")
    private let folder = TemporaryFolder()

    private func file(_ name: String, _ text: String) throws -> URL {
        let url = URL(fileURLWithPath: folder.path).appendingPathComponent(name)
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
        return url
    }

    /// Reads a model whose entities are given as XML.
    private func read(_ entities: String) throws -> CoreDataModel {
        try CoreDataModel(
            contentsOf: file("contents", "<?xml version=\"1.0\" encoding=\"UTF-8\"?><model>\(entities)</model>"))
    }

    /// The error for a file, without its path.
    private func reason(_ url: URL, version: String? = nil) -> String {
        do {
            _ = try CoreDataModel(contentsOf: url, version: version)
            return ""
        } catch let error as CoreDataFileError { return error.reason } catch { return "\(error)" }
    }

    /// The generated classes are compiled with this test, and declare the model that was read.
    @Test func classesDeclareTheModel() throws {
        let read = try CoreDataModel(contentsOf: Self.library)
        #expect(read.model == declaredModel)
        let compiled = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("LibraryClasses.swift")
        #expect(
            try SwiftClasses(read.model, classNames: read.classNames).source
                == String(contentsOf: compiled, encoding: .utf8))
        let container = try PersistentContainer(temporaryWith: read.model)
        #expect(try container.check { _, _ in } == [])
    }

    @Test func whatCannotBeRepresentedIsTold() throws {
        let differences = try CoreDataModel(contentsOf: Self.library).differences.map(\.description)
        #expect(
            differences == [
                "not kept: validation rules (1): Work.rating",
                "as bytes: transformable attributes (1): Book.marks",
                "left out: transient attributes (1): Author.initial",
                "changed: renamed entities, which are new here (1): House", "not kept: user info (1): Tag",
                "left out: fetch request templates (1): BooksUnder", "left out: configurations (1): Cloud",
            ])
    }

    @Test func theCurrentVersionOrANamedOneIsRead() throws {
        let first = try CoreDataModel(contentsOf: Self.library, version: "Library")
        #expect(first.model.entity(named: "Publisher") != nil && first.model.entity(named: "House") == nil)
        #expect(try CoreDataModel(contentsOf: Self.library, version: "Library 2.xcdatamodel").model == declaredModel)
        #expect(try Model(contentsOf: Self.library.appendingPathComponent("Library.xcdatamodel")) == first.model)
        #expect(
            try Model(contentsOf: Self.library.appendingPathComponent("Library.xcdatamodel/contents")) == first.model)
        #expect(reason(Self.library, version: "3") == "it has no version 3; its versions are: Library, Library 2")
        #expect(
            reason(Self.library.appendingPathComponent("Library.xcdatamodel"), version: "3")
                == "it is one version of a model, so it has no version 3")
    }

    /// `make_models.py` has compiled the versions of the bundle.
    @Test func compiledModelsAreTheSame() throws {
        let compiled = Self.library.deletingLastPathComponent().appendingPathComponent("Library.momd")
        for version in [nil, "Library", "Library 2"] {
            let (source, archive) = (
                try CoreDataModel(contentsOf: Self.library, version: version),
                try CoreDataModel(contentsOf: compiled, version: version)
            )
            // An archive has no order.
            #expect(Set(source.model.entities) == Set(archive.model.entities))
            #expect(source.classNames == archive.classNames)
            #expect(Set(source.differences) == Set(archive.differences))
            for entity in source.model.entities {
                let other = try #require(archive.model.entity(named: entity.name))
                func defaults(_ entity: Entity) -> [String: Value] {
                    Dictionary(uniqueKeysWithValues: entity.attributes.map { ($0.name, $0.defaultValue) })
                }
                #expect(defaults(entity) == defaults(other))
            }
        }
        let first = try Model(contentsOf: compiled.appendingPathComponent("Library.mom"))
        #expect(try Set(first.entities) == Set(Model(contentsOf: Self.library, version: "Library").entities))
        #expect(reason(compiled, version: "3") == "it has no version 3; its versions are: Library, Library 2")
        #expect(
            reason(compiled.appendingPathComponent("VersionInfo.plist")) == "the property list is not a keyed archive")
    }

    /// A store contains its model. It's read in a private copy: nothing appears beside the store, and nothing in it
    /// changes.
    @Test func theModelOfAStoreIsTheSame() throws {
        let store = URL(fileURLWithPath: folder.path).appendingPathComponent("App.store")
        let models = Self.library.deletingLastPathComponent()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        try FileManager.default.copyItem(at: models.appendingPathComponent("Library.sqlite"), to: store)
        let bytes = try Data(contentsOf: store)
        let read = try CoreDataModel(contentsOf: store)
        let compiled = try CoreDataModel(contentsOf: models.appendingPathComponent("Library.momd"))
        #expect(Set(read.model.entities) == Set(compiled.model.entities))
        #expect(read.differences == compiled.differences)
        // A database with a log (the version for writing is 2), which isn't there.
        var logged = bytes
        logged[18] = 2
        logged[19] = 2
        try logged.write(to: store)
        #expect(
            try CoreDataModel(contentsOf: store).differences.first?.description
                == "left out: what is in its log, if it had one: App.store-wal is missing")
        #expect(try Data(contentsOf: store) == logged)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["App.store"])
        #expect(reason(store, version: "2") == "it is one version of a model, so it has no version 2")
    }

    @Test func bundlesThatSayTooLittleAreRefused() throws {
        let model = "<model><entity name=\"A\"><attribute name=\"a\" attributeType=\"String\"/></entity></model>"
        _ = try file("One.xcdatamodeld/One.xcdatamodel/contents", model)
        let bundle = URL(fileURLWithPath: folder.path).appendingPathComponent("One.xcdatamodeld")
        #expect(reason(bundle) == "")
        // A bundle within a bundle is not one of its versions.
        _ = try file("One.xcdatamodeld/Old.xcdatamodeld/Two.xcdatamodel/contents", model)
        #expect(reason(bundle) == "")
        _ = try file("One.xcdatamodeld/Two.xcdatamodel/contents", model)
        #expect(reason(bundle) == "it does not say which version is the current one; its versions are: One, Two")
        let list = "<plist><dict><key>_XCCurrentVersionName</key><string>Three.xcdatamodel</string></dict></plist>"
        _ = try file("One.xcdatamodeld/.xccurrentversion", list)
        #expect(
            reason(bundle) == "its current version, Three.xcdatamodel, is missing; its versions are: One, Two")
        _ = try file("One.xcdatamodeld/.xccurrentversion", list.replacingOccurrences(of: "Three", with: "Two"))
        #expect(reason(bundle) == "")
        _ = try file("Empty.xcdatamodeld/readme", "")
        #expect(
            reason(bundle.deletingLastPathComponent().appendingPathComponent("Empty.xcdatamodeld"))
                == "it contains no version of a model")
        _ = try file("Old.xcdatamodel/elements", "")
        #expect(
            reason(bundle.deletingLastPathComponent().appendingPathComponent("Old.xcdatamodel"))
                == "it is a model of Xcode 3, whose form is not read; save it with a later Xcode first")
        #expect(reason(URL(fileURLWithPath: folder.path + "/none")) == "it cannot be read")
    }

    @Test func oddDefaultValuesAreToldAndReplaced() throws {
        let read = try read(
            """
            <entity name="A"><attribute name="i" attributeType="Integer 16" defaultValueString="NO"/>
            <attribute name="j" attributeType="Integer 64" defaultValueString="2.0"/>
            <attribute name="b" attributeType="Boolean" defaultValueString="YES"/>
            <attribute name="u" optional="YES" attributeType="UUID" defaultValueString="empy"/>
            <attribute name="d" attributeType="Date" defaultDateTimeInterval="86400"/>
            <attribute name="m" attributeType="Decimal" defaultValueString="1.50"/>
            <attribute name="none" optional="YES"/></entity>
            """)
        let attributes = try #require(read.model.entity(named: "A")).attributes
        #expect(
            attributes.map(\.defaultValue) == [
                .integer(0), .integer(2), .boolean(true), .null, .date(Date(timeIntervalSinceReferenceDate: 86_400)),
                .decimal(1.5),
            ])
        #expect(
            read.differences.map(\.description) == [
                "changed: odd default values (2): A.i = NO, A.u = empy",
                "left out: attributes without a type that FetchIndex has (1): A.none",
            ])
    }

    /// A store can be made of what is read, whatever the model lacks.
    @Test func relationshipsWithoutAnotherSideGetOne() throws {
        let read = try read(
            """
            <entity name="A"><attribute name="n" attributeType="String"/>
            <relationship name="parts" toMany="YES" destinationEntity="B" deletionRule="Cascade"/>
            <relationship name="friends" toMany="YES" destinationEntity="A" inverseName="friends" inverseEntity="A"/>
            <relationship name="first" optional="YES" maxCount="1" destinationEntity="B" inverseName="nothing" inverseEntity="B"/></entity>
            <entity name="B"/>
            <entity name="C" parentEntity="B"><relationship name="partsOfA" optional="YES" maxCount="1" destinationEntity="A"/></entity>
            """)
        let part = try #require(read.model.entity(named: "B")).relationships
        #expect(part == [RelationshipDescription("partsOfA2", toOne: "A", inverse: "parts")])
        let own = try #require(read.model.entity(named: "A")).relationships
        #expect(
            Set(own) == [
                RelationshipDescription("parts", toMany: "B", inverse: "partsOfA2", deleteRule: .cascade),
                RelationshipDescription("friends", toMany: "A", inverse: "friendsOfA"),
                RelationshipDescription("friendsOfA", toMany: "A", inverse: "friends"),
                RelationshipDescription("first", toOne: "B"),
            ])
        let kinds = read.differences.map(\.what)
        #expect(
            kinds == [
                "to-many relationships without an inverse, which get one",
                "relationships that are their own inverses, which have two sides here",
                "inverses that are not mutual, which are dropped",
            ])
        let container = try PersistentContainer(temporaryWith: read.model)
        let writer = try BatchWriter(container, entity: "A")
        try writer.insert([.string("x")])
        try writer.commit()
        #expect(try container.check { _, _ in } == [])
    }

    @Test func indexesUniquenessCompositesAndDerivations() throws {
        let read = try read(
            """
            <entity name="A"><attribute name="title" attributeType="String" indexed="YES"/>
            <attribute name="author" optional="YES" attributeType="Composite" compositeName="Person"/>
            <attribute name="plain" optional="YES" attributeType="String" derived="YES" derivationExpression="canonical:(title)"/>
            <attribute name="now" optional="YES" attributeType="Date" derived="YES" derivationExpression="now()"/>
            <attribute name="count" optional="YES" attributeType="Integer 64" derived="YES" derivationExpression="bs.@count"/>
            <relationship name="bs" toMany="YES" destinationEntity="B" inverseName="a" inverseEntity="B"/>
            <fetchIndex name="place"><fetchIndexElement property="title" type="RTree" order="ascending"/></fetchIndex>
            <fetchIndex name="both"><fetchIndexElement property="title" type="Binary" order="descending"/>
            <fetchIndexElement property="author.person" type="Binary" order="ascending"/></fetchIndex>
            <fetchIndex name="many"><fetchIndexElement property="bs" type="Binary" order="ascending"/></fetchIndex>
            <compoundIndexes><compoundIndex><index value="title"/><index value="plain"/></compoundIndex></compoundIndexes>
            <uniquenessConstraints><uniquenessConstraint><constraint value="title"/></uniquenessConstraint></uniquenessConstraints></entity>
            <entity name="B"><relationship name="a" maxCount="1" destinationEntity="A" inverseName="bs" inverseEntity="A"/>
            <attribute name="n" attributeType="Integer 32"/>
            <uniquenessConstraints><uniquenessConstraint><constraint value="a"/><constraint value="n"/></uniquenessConstraint></uniquenessConstraints></entity>
            <compositeAttribute name="Person"><attribute name="person" optional="YES" attributeType="String"/>
            <attribute name="born" optional="YES" attributeType="Date"/></compositeAttribute>
            """)
        let a = try #require(read.model.entity(named: "A"))
        #expect(a.attributes.map(\.name) == ["title", "author.person", "author.born", "plain", "now", "count"])
        #expect(a.attributes.map { $0.derivation } == [nil, nil, nil, "canonical:(title)", nil, nil])
        #expect(a.attributes[0].isUnique)
        #expect(
            Set(a.indexes) == [
                Index(["title"]), Index(keys: [Index.Key("title", isDescending: true), Index.Key("author.person")]),
                Index(["title", "plain"]),
            ])
        #expect(try #require(read.model.entity(named: "B")).uniqueAttributes == [["a", "n"]])
        #expect(
            read.differences.map(\.description) == [
                "left out: indexes of expressions, of places or of some objects (1): A.place",
                "changed: derivations, whose values are stored (2): A.now, A.count",
                "left out: indexes of values that an object doesn't hold (1): A.bs",
            ])
        let container = try PersistentContainer(temporaryWith: read.model)
        #expect(try container.check { _, _ in } == [])
    }

    @Test func whatIsNoModelIsRefusedInASentence() throws {
        let cases = [
            ("<model><entity/></model>", "line 1: entity has no name"),
            ("<model>\n<entity name='A'>\n<attribute/></entity></model>", "line 3: attribute has no name"),
            ("<plist></plist>", "line 1: expected the element model, found plist"),
            ("<model><entity name='A'>", "line 1, column 25: it is not XML: no element found"),
            (
                "<!DOCTYPE model [<!ENTITY a 'b'>]><model/>",
                "line 1: its document type has declarations, which are not read"
            ),
            (
                "<model><entity name='A'><relationship name='r' maxCount='x'/></entity></model>",
                "line 1: maxCount is \"x\", not a number"
            ),
            (
                "<model><entity name='A'><relationship name='r' destinationEntity='B'/></entity></model>",
                "the model is invalid: A.r leads to B, which is not in the model"
            ),
            (
                "<model><entity name='A'/><entity name='B' parentEntity='A'><uniquenessConstraints><uniquenessConstraint/>"
                    + "</uniquenessConstraints></entity></model>",
                "the model is invalid: B has an empty list of unique attributes"
            ),
            (String(repeating: "<a>", count: 100), "line 1: its elements are nested more than 64 deep"),
        ]
        for (text, expected) in cases {
            let found = reason(try file("contents", text))
            #expect(found == expected, "\(text)")
        }
    }
}
