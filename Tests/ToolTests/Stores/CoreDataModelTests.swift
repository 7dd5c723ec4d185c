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

    @Test func wrongFilesAndOptionsAreSentences() throws {
        let bundle = try bundle([("App", Self.first)])
        func error(_ arguments: String...) throws -> String {
            let result = try tool.run(arguments)
            #expect(result.status != 0)
            return result.error
        }
        #expect(
            try error("model", "show", bundle, "--model-version", "2").contains("has no version 2; its versions are: App"))
        #expect(try error("model", "show", tool.folder.path + "/none.xcdatamodeld").contains("cannot be read"))
        let json = try tool.file("model.json", "{\"entities\": []}")
        #expect(try error("model", "show", json, "--model-version", "2").contains("is not a model of Core Data"))
        #expect(
            try error("model", "migrate", tool.store, "--add", "a:string", "--model-version", "2").contains(
                "--model-version needs --to"))
        let broken = try tool.file("contents", "<model><entity name=\"A\">")
        #expect(try error("model", "show", broken).contains("contents: line 1, column 25: it is not XML"))
    }
}
