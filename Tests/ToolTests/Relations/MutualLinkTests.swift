import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// Imports of links of relationships that are their own inverses.
@Suite struct MutualLinkTests {
    private let tool: Tool

    init() throws { tool = try Tool() }

    private static let folders = Model(entities: [
        Entity(
            "Folder", [AttributeDescription("name", .string)],
            relationships: [
                RelationshipDescription("likes", toMany: "Folder", inverse: "likes", ordered: true),
                RelationshipDescription("twin", toOne: "Folder", inverse: "twin"),
            ])
    ])

    /// Links of many-to-many relationships have records of their own: objects of which only these change are counted.
    @Test func objectsWithOnlyOtherLinksAreCounted() throws {
        _ = try PersistentContainer(path: tool.store, model: Self.folders)
        func importing(_ text: String, _ options: String...) throws -> Tool.Result {
            try tool.run(["import", tool.store, tool.file("f.csv", text), "--entity", "Folder"] + options)
        }
        #expect(try importing("@id,name,likes,twin\n1,a,,\n2,b,,\n3,c,,\n4,d,,\n").status == 0)
        let delta = tool.folder.path + "/delta.jsonl"
        let linked = try importing("@id,name,likes\n1,a,2\n3,e,4\n", "--delta-out", delta)
        #expect(
            linked.error.hasSuffix("many-to-many relationships of 4 objects changed, which a delta doesn't have\n"),
            "\(linked.error)")
        let changes = try tool.run("changes", tool.store, "--entity", "Folder", "--since", "1", "--if-changed")
        #expect(changes.status == 0 && changes.output == "update #3  name: c → e\n", "\(changes.output)")
        #expect(
            changes.error == "fetchindex: many-to-many relationships of 3 other objects changed\n", "\(changes.error)")
        #expect(try importing("@id,name,likes\n1,a,3\n").status == 0)
        let only = try tool.run("changes", tool.store, "--entity", "Folder", "--since", "2", "--if-changed")
        #expect(only.status == 0 && only.output == "no changes\n", "\(only.output)")
        #expect(only.error == "fetchindex: many-to-many relationships of 3 other objects changed\n")
    }

    /// If rows name related objects from one side only, both sides have the links of a relationship that is its own inverse.
    @Test func rowsGiveBothObjectsALink() throws {
        _ = try PersistentContainer(path: tool.store, model: Self.folders)
        func importing(_ text: String, _ options: String...) throws -> Tool.Result {
            try tool.run(["import", tool.store, tool.file("f.csv", text), "--entity", "Folder"] + options)
        }
        func exported() throws -> [String] {
            let lines = try tool.run("export", tool.store, "--entity", "Folder", "--format", "csv").output
            let rows = lines.split(separator: "\n").map { $0.split(separator: ",", omittingEmptySubsequences: false) }
            let header = try #require(rows.first).map(String.init)
            let (likes, twin) = try (#require(header.firstIndex(of: "likes")), #require(header.firstIndex(of: "twin")))
            return rows.dropFirst().map { row in
                let numbers = row[likes].split(separator: " ").map { $0.prefix { $0 != "@" } }
                return numbers.joined(separator: " ") + "|" + row[twin].prefix { $0 != "@" }
            }
        }
        #expect(try importing("@id,name,likes,twin\n1,a,2 3,\n2,b,,\n3,c,,2\n").status == 0)
        #expect(try exported() == ["2 3|", "1|3", "1|2"])
        let again = try importing("@id,name,likes,twin\n1,a,2 3,\n2,b,,\n3,c,,2\n")
        #expect(again.output.contains("0 inserted, 0 updated") && again.status == 0, "\(again.output)")
        #expect(try exported() == ["2 3|", "1|3", "1|2"])
        #expect(try importing("@id,name,likes,twin\n1,a,3,\n").status == 0)
        #expect(try exported() == ["3|", "|3", "1|2"])
        #expect(try importing("@id,name,likes,twin\n2,b,,\n").status == 0)
        #expect(try exported() == ["3|", "|", "1|"])
        // An object is taken from its partner; rows that contradict each other are refused with their lines.
        #expect(try importing("@id,name,twin\n1,a,2\n3,c,\n4,d,3\n").status == 0)
        #expect(try exported() == ["3|2", "|1", "1|4", "|3"])
        #expect(try importing("@id,twin\n1,3\n").status == 0)
        #expect(try exported() == ["3|3", "|", "1|1", "|"])
        for _ in 0..<2 {
            let contradiction = try importing("@id,twin\n1,2\n2,4\n4,1\n", "--skip-bad-rows")
            let told = contradiction.output + contradiction.error
            #expect(told.contains("line 3: Folder.twin names Folder 4, but another row relates Folder"))
            #expect(told.contains("line 4: Folder.twin names Folder 1, but another row relates Folder"))
            #expect(try exported() == ["3|2", "|1", "1|", "|"])
        }
        #expect(try tool.run("check", tool.store).status == 0)
    }

    /// A keyed row may name a row that comes later, and rows may be written twice.
    @Test func keyedRowsGiveBothObjectsALink() throws {
        let model = try tool.file(
            "model.json",
            #"{"entities":[{"name":"P","attributes":[{"name":"n","type":"string","isUnique":true},{"name":"x","type":"integer"}],"relationships":[{"name":"twin","destination":"P","inverse":"twin"}]}]}"#
        )
        #expect(try tool.run("model", "migrate", tool.store, "--to", model, "--create").status == 0)
        func importing(_ text: String, _ options: String...) throws -> Tool.Result {
            try tool.run(["import", tool.store, tool.file("p.csv", text), "--entity", "P"] + options)
        }
        func twins() throws -> [String] {
            let lines = try tool.run("export", tool.store, "--entity", "P", "--format", "csv").output
            return lines.split(separator: "\n").dropFirst().map { line in
                let fields = line.split(separator: ",", omittingEmptySubsequences: false)
                return "\(fields[1]):\(fields[3].prefix { $0 != "@" })"
            }
        }
        for round in 0..<3 {
            let result = try importing("@id,n,twin\n1,a,2\n2,b,\n", "--key", "n")
            #expect(
                result.status == 0 && (round == 0 || result.output.contains("0 inserted, 0 updated")),
                "\(result.output)")
            #expect(try twins() == ["a:2", "b:1"])
        }
        // The second row of y makes the transaction write rows again, in which a is new again.
        let again = try importing("n,twin,x\nz,b,1\na,,1\na,,2\n", "--key", "n", "--relate", "twin=P.n")
        #expect(again.status == 0, "\(again.error)")
        #expect(try twins() == ["a:", "b:3", "z:2"])
        // A refused row leaves the partners of those whom it names.
        let refused = try importing("@id,n,twin\n9,a,2\n", "--skip-bad-rows")
        #expect(refused.output.contains("1 bad row was skipped") || refused.error.contains("1 bad row was skipped"))
        #expect(try twins() == ["a:", "b:3", "z:2"])
        #expect(try tool.run("check", tool.store).status == 0)
    }
}
