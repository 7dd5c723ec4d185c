import FetchIndex
import FetchIndexCoreDataFiles
import FetchIndexInspection
import FetchIndexModels
import FetchIndexTestSupport
import Foundation
import Testing
import FetchIndexValues

/// Models of Core Data become models of FetchIndex.
@Suite struct ModelFileTests {
    private let files = ModelFiles()

    /// Reads a model whose entities are given as XML.
    private func read(_ entities: String) throws -> CoreDataModel {
        try CoreDataModel(
            contentsOf: files.file("contents", "<?xml version=\"1.0\" encoding=\"UTF-8\"?><model>\(entities)</model>"))
    }

    /// The generated classes are compiled with this test, and declare the model that was read.
    @Test func classesDeclareTheModel() throws {
        let read = try CoreDataModel(contentsOf: ModelFiles.library)
        #expect(read.model.entities == declaredModel.entities)
        let compiled = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("LibraryClasses.swift")
        #expect(
            try SwiftClasses(read.model, classNames: read.classNames).source
                == String(contentsOf: compiled, encoding: .utf8))
        let container = try PersistentContainer(temporaryWith: read.model)
        #expect(try container.check { _, _ in } == [])
    }

    @Test func whatCannotBeRepresentedIsTold() throws {
        let differences = try CoreDataModel(contentsOf: ModelFiles.library).differences.map(\.description)
        #expect(
            differences == [
                "not kept: validation rules (1): Work.rating",
                "as bytes: transformable attributes (1): Book.marks",
                "left out: transient attributes (1): Author.initial",
                "not kept: user info (1): Tag", "left out: configurations (1): Cloud",
            ])
    }

    /// The next version renames an entity to which relationships lead.
    @Test func aStoreFollowsTheNextVersion() throws {
        let first = try Model(contentsOf: ModelFiles.library, version: "Library")
        let container = try PersistentContainer(temporaryWith: first)
        let context = container.newContext()
        let (book, publisher) = (try context.insert("Book"), try context.insert("Publisher"))
        publisher["city"] = .string("東京")
        book["added"] = .date(Date())
        book.relate("publisher", to: publisher)
        try context.save()
        #expect(try container.request(named: "BooksUnder").predicate?.description.contains("$LIMIT") == true)
        let next = try Model(contentsOf: ModelFiles.library, version: "Library 2").replacing(container.model())
        try container.migrate(to: next)
        let renamed = container.newContext()
        let found = try #require(try renamed.fetch(FetchRequest<ManagedObject>(entityName: "Book")).first)
        let house = try #require(found.relatedObject("publisher"))
        #expect(house.entity.name == "House" && house["town"] == .string("東京"))
        #expect(try container.check { _, _ in } == [])
        #expect(try container.plan(for: next).isEmpty)
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
                RelationshipDescription("friends", toMany: "A", inverse: "friends"),
                RelationshipDescription("first", toOne: "B"),
            ])
        let kinds = read.differences.map(\.what)
        #expect(
            kinds == [
                "to-many relationships without an inverse, which get one",
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

    /// Composite types may have parts of composite types; one that is part of itself ends.
    @Test func partsOfPartsAreAttributes() throws {
        let read = try read(
            """
            <entity name="A"><attribute name="new" optional="YES" attributeType="Composite" compositeName="P" elementID="old"/></entity>
            <compositeAttribute name="P"><attribute name="x" optional="YES" attributeType="Composite" compositeName="Q"/>
            <attribute name="again" optional="YES" attributeType="Composite" compositeName="P"/></compositeAttribute>
            <compositeAttribute name="Q"><attribute name="y" optional="YES" attributeType="Date"/></compositeAttribute>
            """)
        let attributes = try #require(read.model.entity(named: "A")).attributes
        #expect(attributes.map(\.name) == ["new.x.y"] && attributes.map(\.renamedFrom) == ["old.x.y"])
        #expect(
            read.differences.map(\.description)
                == ["left out: attributes without a type that FetchIndex has (1): A.new.again"])
    }

    /// What Core Data checks of relationships is checked here, or told.
    @Test func countsAndInversesAreThoseOfCoreData() throws {
        let read = try read(
            """
            <entity name="S"/><entity name="A" parentEntity="S">
            <relationship name="bs" optional="YES" toMany="YES" minCount="2" maxCount="5" destinationEntity="B" inverseName="a" inverseEntity="B"/>
            <relationship name="one" optional="YES" toMany="YES" maxCount="1" destinationEntity="B"/></entity>
            <entity name="B"><relationship name="a" optional="YES" maxCount="1" destinationEntity="A" inverseName="bs" inverseEntity="A"/>
            <relationship name="s" optional="YES" maxCount="1" destinationEntity="S" inverseName="bs" inverseEntity="A"/></entity>
            """)
        let a = try #require(read.model.entity(named: "A")).relationships
        #expect(
            Set(a) == [
                RelationshipDescription("bs", toMany: "B", inverse: "a", maxCount: 5),
                RelationshipDescription("one", toOne: "B"),
            ])
        #expect(
            read.differences.map(\.description) == [
                "not kept: minimum counts of optional relationships (1): A.bs",
                "changed: inverses that are not mutual, which are dropped (1): B.s",
            ])
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
            let found = files.reason(try files.file("contents", text))
            #expect(found == expected, "\(text)")
        }
    }
}
