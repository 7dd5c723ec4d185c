import FetchIndexTestSupport
import Foundation
import Testing

/// `model show`, `diff`, `plan` and `migrate` with models of Core Data.
@Suite struct CoreDataModelTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    /// Writes a bundle whose versions have these entities, as XML; the last one is current.
    private func bundle(_ versions: [(name: String, entities: String)]) throws -> String {
        let path = tool.folder.path + "/App.xcdatamodeld"
        for (name, entities) in versions {
            let folder = "\(path)/\(name).xcdatamodel"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try Data("<model>\(entities)</model>".utf8).write(to: URL(fileURLWithPath: folder + "/contents"))
        }
        let current =
            "<plist><dict><key>_XCCurrentVersionName</key><string>\(versions.last?.name ?? "").xcdatamodel</string></dict></plist>"
        try Data(current.utf8).write(to: URL(fileURLWithPath: path + "/.xccurrentversion"))
        return path
    }

    private static let first = """
        <entity name="Book"><attribute name="title" attributeType="String"/><attribute name="shelf" optional="YES" attributeType="String"/>
        <attribute name="old" optional="YES" transient="YES" attributeType="String"/>
        <fetchIndex name="byShelf"><fetchIndexElement property="shelf" type="Binary" order="ascending"/></fetchIndex></entity>
        """
    private static let second = """
        <entity name="Book"><attribute name="name" attributeType="String" elementID="title"/>
        <attribute name="pages" attributeType="Integer 32" defaultValueString="0"/></entity>
        """

    /// A store follows an app's models from version to version. What a version lacks is removed.
    @Test func aStoreFollowsTheVersionsOfABundle() throws {
        let bundle = try bundle([("App", Self.first), ("App 2", Self.second)])
        let made = try tool.run("model", "migrate", tool.store, "--to", bundle, "--model-version", "App", "--create")
        #expect(made.status == 0)
        #expect(made.error == "fetchindex: left out: transient attributes (1): Book.old\n")
        let file = try tool.file("books.csv", "title,shelf\nA,s\nB,\n")
        #expect(try tool.run("import", tool.store, file, "--entity", "Book").status == 0)
        let plan = try tool.run("model", "plan", tool.store, "--to", bundle)
        for change in ["rename title to name", "add pages: integer", "remove shelf"] {
            #expect(plan.output.contains(change), "\(plan.output)")
        }
        let diff = try tool.run("model", "diff", bundle + "/App.xcdatamodel", bundle)
        #expect(diff.status == 0, "\(diff.error)")
        #expect(
            diff.output.contains("add pages: integer") && diff.output.contains("remove the index shelf"),
            "\(diff.output)")
        #expect(try tool.run("model", "migrate", tool.store, "--to", bundle).status == 0)
        let rows = try tool.run("export", tool.store, "--entity", "Book", "--format", "csv")
        #expect(rows.output == "name,pages\nA,0\nB,0\n")
        let same = try tool.run("model", "plan", tool.store, "--to", bundle)
        #expect(same.output == "the store already has this model\n", "\(same.output)")
        #expect(try tool.run("check", tool.store).status == 0)
    }

    private static func attribute(_ name: String, _ identifier: String? = nil) -> String {
        let element = identifier.map { " elementID=\"\($0)\"" } ?? ""
        return "<attribute name=\"\(name)\" optional=\"YES\" attributeType=\"String\"\(element)/>"
    }

    /// A renaming identifier is a lasting name: a version may keep the one of an earlier version, or go back to it.
    @Test(arguments: [["1", "2", "3"], ["1", "2", "1"], ["2", "3"], ["1", "3"], ["1", "2", "3", "2"]])
    func attributesKeepTheirValuesThroughAllNames(versions: [String]) throws {
        let entities = [
            "1": Self.attribute("title"), "2": Self.attribute("name", "title"), "3": Self.attribute("label", "title"),
        ]
        let bundle = try bundle(
            entities.sorted { $0.key < $1.key }.map { ($0.key, "<entity name=\"Book\">\($0.value)</entity>") })
        func migrate(_ version: String) throws {
            let result = try tool.run(
                "model", "migrate", tool.store, "--to", bundle, "--model-version", version, "--create")
            #expect(result.status == 0, "\(result.error)")
        }
        try migrate(versions[0])
        let name = ["1": "title", "2": "name", "3": "label"]
        let file = try tool.file("books.csv", "\(name[versions[0]] ?? "")\nA\nB\n")
        #expect(try tool.run("import", tool.store, file, "--entity", "Book").status == 0)
        for version in versions.dropFirst() {
            try migrate(version)
            let plan = try tool.run("model", "plan", tool.store, "--to", bundle, "--model-version", version)
            #expect(plan.output == "the store already has this model\n", "\(plan.output)")
        }
        let rows = try tool.run("export", tool.store, "--entity", "Book", "--format", "csv")
        #expect(rows.output == "\(name[versions[versions.count - 1]] ?? "")\nA\nB\n")
        #expect(try tool.run("check", tool.store).status == 0)
    }

    /// An identifier that names another attribute of the store would replace values, so it's refused.
    @Test func anAttributeIsNotRenamedToAnotherOne() throws {
        let bundle = try bundle([
            ("1", "<entity name=\"Book\">\(Self.attribute("a"))\(Self.attribute("b"))</entity>"),
            ("2", "<entity name=\"Book\">\(Self.attribute("b", "a"))</entity>"),
        ])
        let diff = try tool.run("model", "diff", bundle + "/1.xcdatamodel", bundle)
        #expect(diff.status == 1)
        #expect(
            diff.error.contains("Book.b is renamed from a, but the store has both: remove b first"), "\(diff.error)")
    }

    /// An index of a renamed attribute is removed with the same migration.
    @Test func indexesOfRenamedAttributesAreRemoved() throws {
        let index =
            "<fetchIndex name=\"i\"><fetchIndexElement property=\"a\" type=\"Binary\" order=\"ascending\"/></fetchIndex>"
        let bundle = try bundle([
            ("1", "<entity name=\"Book\">\(Self.attribute("a"))\(index)</entity>"),
            ("2", "<entity name=\"Book\">\(Self.attribute("c", "a"))</entity>"),
        ])
        for version in ["1", "2"] {
            let result = try tool.run(
                "model", "migrate", tool.store, "--to", bundle, "--model-version", version, "--create")
            #expect(result.status == 0, "\(result.error)")
        }
        #expect(
            try tool.run("model", "plan", tool.store, "--to", bundle).output == "the store already has this model\n")
    }

    @Test func aChangeThatNeedsADecisionFailsForTests() throws {
        let required = Self.second.replacingOccurrences(of: " defaultValueString=\"0\"", with: "")
        let bundle = try bundle([("App", Self.first), ("App 2", required)])
        let diff = try tool.run("model", "diff", bundle + "/App.xcdatamodel", bundle, "--output", "json")
        #expect(diff.status == 1)
        #expect(diff.output.contains("\"verdict\":\"decision\""), "\(diff.output)")
    }

    /// Every store has classes, not only one that was made of a model of Core Data.
    @Test func classesOfAStore() throws {
        let file = try tool.file("a.csv", "code,class,description,1st,size\na,x,y,z,1.5\n")
        #expect(try tool.run("import", tool.store, file, "--entity", "Data", "--key", "code").status == 0)
        let source = try tool.run("model", "show", tool.store, "--output", "swift")
        #expect(
            source.output == """
                import FetchIndex
                import Foundation

                final class DataObject: ManagedObject {
                    @Attribute("code", isUnique: true) var code: String
                    @Attribute("class") var `class`: String?
                    @Attribute("description") var descriptionValue: String?
                    @Attribute("1st") var _1st: String?
                    @Attribute("size") var size: Decimal?

                    override class var entityName: String { "Data" }
                }

                /// The model that these classes declare.
                let declaredModel = Model(DataObject.self)

                """, "\(source.output)")
    }

    /// Names that Swift or the source itself uses get another ending, or backquotes wherever they occur.
    @Test func classesOfAwkwardNames() throws {
        let model = """
            {"entities": [{"name": "in", "isAbstract": true, "attributes": [{"name": "Type", "type": "string"},
            {"name": "URL", "type": "url"}, {"name": "Self", "type": "integer"}, {"name": "\u{301}x", "type": "date"}]},
            {"name": "declaredModel", "superentity": "in", "attributes": [{"name": "URLValue", "type": "data"}]}]}
            """
        let source = try tool.run("model", "show", try tool.file("m.json", model), "--output", "swift")
        #expect(
            source.output == """
                import FetchIndex
                import Foundation

                class `in`: ManagedObject {
                    @Attribute("Type") var TypeValue: String?
                    @Attribute("URL") var URLValue: URL?
                    @Attribute("Self") var `Self`: Int?
                    @Attribute("\u{301}x") var _\u{301}x: Date?

                    override class var isAbstract: Bool { self == `in`.self }
                }

                final class declaredModelObject: `in` {
                    @Attribute("URLValue") var URLValueValue: Data?

                    override class var entityName: String { "declaredModel" }
                }

                /// The model that these classes declare.
                let declaredModel = Model(`in`.self, declaredModelObject.self)

                """, "\(source.output)")
    }

    @Test func wrongFilesAndOptionsAreSentences() throws {
        let bundle = try bundle([("App", Self.first)])
        func error(_ arguments: String...) throws -> String {
            let result = try tool.run(arguments)
            #expect(result.status != 0)
            return result.error
        }
        #expect(
            try error("model", "show", bundle, "--model-version", "2").contains(
                "has no version 2; its versions are: App"))
        #expect(try error("model", "show", tool.folder.path + "/none.xcdatamodeld").contains("cannot be read"))
        let json = try tool.file("model.json", "{\"entities\": []}")
        #expect(try error("model", "show", json, "--model-version", "2").contains("is not a model of Core Data"))
        #expect(
            try error("model", "migrate", tool.store, "--add", "a:string", "--model-version", "2").contains(
                "--model-version needs --to"))
        let broken = try tool.file("contents", "<model><entity name=\"A\">")
        #expect(try error("model", "show", broken).contains("contents: line 1, column 25: it is not XML"))
    }

    @Test func whatAMigrationCannotDoIsSaid() throws {
        func diff(_ old: String, _ new: String) throws -> (status: Int32, text: String) {
            let bundle = try bundle([("1", old), ("2", new)])
            let result = try tool.run("model", "diff", bundle + "/1.xcdatamodel", bundle)
            return (result.status, result.output + result.error)
        }
        func attribute(_ name: String, _ former: String = "") -> String {
            "<attribute name=\"\(name)\" optional=\"YES\" attributeType=\"String\" elementID=\"\(former)\"/>"
        }
        let exchanged = try diff(
            "<entity name=\"A\">\(attribute("a"))\(attribute("b"))</entity>",
            "<entity name=\"A\">\(attribute("a", "b"))\(attribute("b", "a"))</entity>")
        #expect(
            exchanged.status == 1
                && exchanged.text.contains(
                    "a and b are renamed from each other: rename one of them to a third name first"),
            "\(exchanged)")
        let moved = try diff(
            "<entity name=\"A\">\(attribute("a"))</entity><entity name=\"B\" parentEntity=\"A\"/>",
            "<entity name=\"A\">\(attribute("a"))</entity><entity name=\"B\"/>")
        #expect(
            moved.status == 1
                && moved.text.contains("it is a subentity of A in the store, and an entity of its own in the model"),
            "\(moved)")
        let replaced = try diff("<entity name=\"A\"/><entity name=\"B\"/>", "<entity name=\"A\" elementID=\"B\"/>")
        #expect(
            replaced.status == 1
                && replaced.text.contains("A is renamed from B, but the store has both: remove A first"),
            "\(replaced)")
        let dropped = try diff("<entity name=\"A\"/><entity name=\"B\"/>", "<entity name=\"A\"/>")
        #expect(dropped.status == 0 && dropped.text.contains("B"), "\(dropped)")
        let same = try diff("<entity name=\"A\"/>", "<entity name=\"A\"/>")
        #expect(same.text.contains("a store of the old model already has the new one"), "\(same)")
    }
}
