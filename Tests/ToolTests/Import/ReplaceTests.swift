import Foundation
import FetchIndexTestSupport
import Testing

/// After a successful `import --replace`, the entity has exactly the objects of the file.
@Suite struct ReplaceTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    private func file(_ rows: [Int: String]) throws -> String {
        let lines = rows.sorted { $0.key < $1.key }.map { "\($0.key),\($0.value)\n" }
        return try tool.file("rows.csv", "code,name\n" + lines.joined())
    }

    private func replace(_ path: String, _ options: String...) throws -> Tool.Result {
        try tool.run(["import", tool.store, path, "--entity", "Item", "--key", "code", "--output", "json"] + options)
    }

    private func rows() throws -> [Int: String] {
        let output = try tool.run("export", tool.store, "--entity", "Item", "--format", "tsv").output
        return Dictionary(
            uniqueKeysWithValues: output.split(separator: "\n").dropFirst().map { line in
                let parts = line.split(separator: "\t").map(String.init)
                return (Int(parts[0]) ?? -1, parts[1])
            })
    }

    @Test(arguments: [UInt64(1), 2, 3])
    func replaceLeavesExactlyTheObjectsOfTheFile(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var wanted: [Int: String] = [:]
        for step in 0..<8 {
            for _ in 0..<Int.random(in: 0...300, using: &random) {
                let code = Int.random(in: 0..<1000, using: &random)
                wanted[code] = Bool.random(using: &random) ? "name \(Int.random(in: 0..<9, using: &random))" : nil
            }
            wanted[0] = "always"
            let before = step == 0 ? [:] : try rows()
            let result = try replace(file(wanted), "--replace", "--replace-limit", "100")
            #expect(result.status == 0, "seed \(seed), step \(step): \(result.error)")
            #expect(try rows() == wanted, "seed \(seed), step \(step)")
            #expect(result["deleted"] as? Int == before.keys.filter { wanted[$0] == nil }.count)
            #expect(result["inserted"] as? Int == wanted.keys.filter { before[$0] == nil }.count)
        }
        #expect(try tool.run("check", tool.store).status == 0)
        // A repeated import of the file makes no commit.
        let commit = try tool.run("info", tool.store, "--output", "json")["commit"] as? Int
        #expect(try replace(file(wanted), "--replace")["deleted"] as? Int == 0)
        #expect(try tool.run("info", tool.store, "--output", "json")["commit"] as? Int == commit)
    }

    @Test func replaceRefusesToDeleteMoreThanItsLimit() throws {
        let all = Dictionary(uniqueKeysWithValues: (0..<10).map { ($0, "a") })
        #expect(try replace(file(all)).status == 0)
        let few = try file([0: "b", 1: "b", 20: "new"])
        let refused = try replace(few, "--replace")
        #expect(refused.status != 0)
        #expect(
            refused.error.contains(
                "the file lacks 8 of 10 objects, more than --replace-limit 50 per cent; nothing was changed"
            ))
        #expect(try rows() == all)
        // A second attempt is refused too.
        #expect(try replace(few, "--replace").status != 0)
        #expect(try rows() == all)
        #expect(try replace(few, "--replace", "--replace-limit", "80")["deleted"] as? Int == 8)
        #expect(try rows() == [0: "b", 1: "b", 20: "new"])
        // By default, up to half of the objects may be deleted.
        #expect(try replace(file([0: "b", 20: "new"]), "--replace")["deleted"] as? Int == 1)
        let header = try tool.file("header.csv", "code,name\n")
        #expect(try replace(header, "--replace").status != 0)
        let empty = try tool.file("empty.csv", "")
        #expect(try replace(empty, "--replace", "--replace-limit", "100").status != 0)
        #expect(try rows().count == 2)
    }

    @Test func replaceChangesNothingIfALinkCannotBeMade() throws {
        let model = try tool.file(
            "model.json",
            #"{"entities":[{"name":"A","attributes":[{"name":"n","type":"string","isUnique":true}],"relationships":[{"name":"next","destination":"A"}]}]}"#
        )
        #expect(try tool.run("model", "migrate", tool.store, "--to", model, "--create").status == 0)
        let file = try tool.file("a.csv", "@id,n,next\n1,x,\n2,y,9\n")
        let result = try tool.run("import", tool.store, file, "--entity", "A", "--key", "n", "--replace")
        #expect(result.status == 1)
        #expect(
            result.error.contains(
                "line 3: A.next names a row by a number that is not in the file; nothing was changed"),
            "\(result.error)")
        #expect(try tool.run("export", tool.store, "--entity", "A", "--format", "jsonl").output.isEmpty)
    }

    @Test func replaceRefusesAFileWithABadRow() throws {
        #expect(try replace(file([1: "a", 2: "b", 3: "c", 4: "d"])).status == 0)
        let bad = try tool.file("bad.csv", "code,name\n1,x\nnone,y\n3,z\n4,z\n")
        let refused = try replace(bad, "--replace", "--skip-bad-rows")
        #expect(refused.status != 0)
        #expect(
            refused.error.contains(
                "line 3, column 1 (code): \"none\" is not an integer), so --replace cannot tell which objects the file lacks"
            ))
        #expect(try rows() == [1: "a", 2: "b", 3: "c", 4: "d"])
        #expect(try replace(bad, "--replace").error.contains("nothing was changed"))
        #expect(try rows() == [1: "a", 2: "b", 3: "c", 4: "d"])
    }

    @Test func theReplaceOptionNeedsAKey() throws {
        let path = try file([1: "a"])
        let result = try tool.run("import", tool.store, path, "--entity", "Item", "--replace")
        #expect(result.status == 2)
        #expect(result.error.contains("--replace needs --key"))
    }

    @Test func objectsKeepTheirValuesOfMissingColumns() throws {
        #expect(try replace(file([1: "a", 2: "b", 3: "c"])).status == 0)
        let codes = try tool.file("codes.csv", "code\n1\n3\n")
        #expect(try replace(codes, "--replace")["deleted"] as? Int == 1)
        #expect(try rows() == [1: "a", 3: "c"])
    }
}
