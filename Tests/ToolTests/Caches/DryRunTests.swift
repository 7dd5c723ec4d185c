import Foundation
import FetchIndexTestSupport
import Testing

/// `apply --dry-run` prints what `apply` would change, and changes nothing.
@Suite struct DryRunTests {
    let tool: Tool
    private let changes: String

    init() throws {
        tool = try Tool()
        let rows = (0..<20).map { "\($0),\($0 % 3),\($0)\n" }
        let file = try tool.file("rows.csv", "code,kind,size\n" + rows.joined())
        #expect(try tool.run("import", tool.store, file, "--entity", "Item", "--key", "code").status == 0)
        #expect(try tool.run("fetch", tool.store, "--sort", "size", "--section", "kind", "--cache", "c").status == 0)
        changes = try tool.file(
            "changes.jsonl",
            """
            {"op":"update","key":3,"values":{"size":100}}
            {"op":"delete","key":4}

            {"op":"insert","key":30,"values":{"kind":7,"size":5}}


            {"op":"update","key":5,"values":{"size":5}}

            """)
    }

    private func data() throws -> [String: Data] { try tool.storeFiles() }

    @Test func nothingIsChanged() throws {
        let before = try data()
        let dry = try tool.run("apply", tool.store, changes, "--key", "code", "--cache", "c", "--dry-run")
        #expect(dry.status == 0, "\(dry.error)")
        #expect(
            dry.output.hasSuffix(
                "nothing was changed; would apply 3 transactions: 1 inserted, 1 updated, 1 unchanged, 1 deleted\n"),
            "\(dry.output)")
        for row in ["row delete from 1:1  #5  4", "row insert at 3:0  #21  30", "row move 0:1 → 0:6  #4  3"] {
            #expect(dry.output.contains(row), "\(dry.output)")
        }
        #expect(try data() == before)
        #expect(try tool.run("changes", tool.store, "--cache", "c").output.contains("no changes"))
    }

    @Test func theBatchIsThatOfTheCommit() throws {
        func rows(_ result: Tool.Result) throws -> [NSDictionary] {
            let line = try #require(result.output.split(separator: "\n").first)
            let batch = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return try #require(batch?["rows"] as? [NSDictionary])
        }
        let one = try tool.file("one.jsonl", #"{"op":"update","key":3,"values":{"size":100,"kind":1}}"# + "\n")
        let arguments = ["apply", tool.store, one, "--key", "code", "--cache", "c", "--output", "json"]
        let dry = try tool.run(arguments + ["--dry-run"])
        // A dry run has the details that `changes` has; the batch of a commit leaves out values and names of sections.
        let shared = ["kind", "id", "key", "from", "to"]
        func shown(_ rows: [NSDictionary]) -> [NSDictionary] {
            rows.map { row in NSDictionary(dictionary: Dictionary(uniqueKeysWithValues: shared.map { ($0, row[$0]) })) }
        }
        let previewed = try rows(dry)
        #expect(previewed[0]["new"] as? NSDictionary == ["code": 3, "kind": 1, "size": 100])
        #expect(try shown(previewed) == shown(rows(try tool.run(arguments))))
        let counts = try #require(dry.output.split(separator: "\n").last)
        #expect(counts == #"{"deleted":0,"inserted":0,"transactions":1,"unchanged":0,"updated":1}"#)
    }

    @Test func anImportIsPreviewedForSeveralCaches() throws {
        #expect(try tool.run("fetch", tool.store, "--sort", "code", "--cache", "by code").status == 0)
        let before = try data()
        let file = try tool.file("new.csv", "code,kind,size\n" + (5..<22).map { "\($0),1,\($0)\n" }.joined())
        let import_ = ["import", tool.store, file, "--entity", "Item", "--key", "code", "--replace"]
        let dry = try tool.run(import_ + ["--dry-run", "--summary", "--cache", "c", "--cache", "by code"])
        #expect(dry.status == 0, "\(dry.error)")
        #expect(dry.output.contains("c:\n20 rows → 17: 2 inserted, 5 deleted, "), "\(dry.output)")
        #expect(dry.output.contains("by code:\n20 rows → 17: 2 inserted, 5 deleted, "), "\(dry.output)")
        let end = try #require(dry.output.split(separator: "\n").last)
        #expect(end.hasPrefix("nothing was changed; would import 17 rows in "), "\(end)")
        #expect(end.contains(": 2 inserted, 10 updated, 5 unchanged, 5 deleted"), "\(end)")
        #expect(try data() == before)
        #expect(try tool.run(import_).output.contains(": 2 inserted, 10 updated, 5 unchanged, 5 deleted"))
    }

    @Test func aDryRunCreatesNoStoreAndNoEntity() throws {
        let file = try tool.file("others.csv", "code,size\n1,2\n2,x\n")
        let missing = tool.folder.path + "/missing"
        let dry = try tool.run("import", missing, file, "--entity", "Other", "--key", "code", "--dry-run")
        #expect(dry.output.contains("would import 2 rows"), "\(dry.error)")
        #expect(!FileManager.default.fileExists(atPath: missing))
        let before = try data()
        #expect(try tool.run("import", tool.store, file, "--entity", "Other", "--dry-run").status == 0)
        #expect(try data() == before)
        let bad = try tool.run(
            "import", tool.store, file, "--entity", "Other", "--types", "size:integer", "--dry-run")
        #expect(bad.status == 1 && bad.error.contains("line 3"), "\(bad.error)")
    }

    @Test func aBadLineIsAnErrorAndNothingIsChanged() throws {
        let before = try data()
        let bad = try tool.file("bad.jsonl", #"{"op":"delete","key":3}"# + "\n" + #"{"op":"delete","key":99}"# + "\n")
        let result = try tool.run("apply", tool.store, bad, "--key", "code", "--dry-run")
        #expect(result.status == 1)
        #expect(
            result.error.hasSuffix(
                "line 2: there is no Item with code \"99\"; it's a dry run, and nothing was changed\n"),
            "\(result.error)")
        #expect(try data() == before)
    }

    /// The output of an import, without its time.
    private func shown(_ result: Tool.Result) -> String {
        result.output.replacing("nothing was changed; would import ", with: "")
            .replacing(#/ in [^:]*:/#, with: ":").replacing(#/; commit \d+/#, with: "")
    }

    @Test func changesOfTheModelArePreviewed() throws {
        let before = try data()
        let file = try tool.file(
            "more.csv", "code,kind,size,colour,maker\n" + (10..<25).map { "\($0),1,\($0),red,m\($0 % 2)\n" }.joined())
        let import_ = [
            "import", tool.store, file, "--entity", "Item", "--key", "code", "--add-columns", "--relate",
            "maker=Maker.name", "--create-related",
        ]
        let dry = try tool.run(import_ + ["--dry-run", "--cache", "c", "--summary"])
        #expect(dry.status == 0, "\(dry.error)")
        #expect(dry.output.contains("c:\n20 rows → 25: 5 inserted, 6 moved, 4 updated\n"), "\(dry.output)")
        #expect(try data() == before)
        let refused = try tool.run(import_ + ["--rule", "inserted at most 1"])
        #expect(refused.status == 1 && refused.error.contains("inserted"), "\(refused.error)")
        #expect(try !tool.run("model", "show", tool.store).output.contains("colour"))
        let alone = try tool.run(import_ + ["--dry-run"])
        let real = try tool.run(import_ + ["--rule", "inserted at most 7"])
        #expect(real.status == 0, "\(real.error)")
        #expect(shown(alone) == shown(real))
        #expect(shown(real).contains("5 inserted, 10 updated, 0 unchanged, 2 related created"), "\(real.output)")
        let red = ["--entity", "Item", "--where", "colour == 'red' AND maker.name == 'm1'"]
        let rows = try tool.run(["fetch", tool.store] + red)
        #expect(rows.output.contains("23"), "\(rows.output)")
    }

    @Test func aNewEntityWhoseRowsNameStoredObjectsIsPreviewed() throws {
        let before = try data()
        let file = try tool.file("orders.csv", "number,item\n1,3\n2,4\n1,5\n")
        let import_ = [
            "import", tool.store, file, "--entity", "Order", "--key", "number", "--relate", "item=Item.code",
        ]
        let dry = try tool.run(import_ + ["--dry-run"])
        #expect(dry.status == 0, "\(dry.error)")
        #expect(try data() == before)
        #expect(shown(dry) == shown(try tool.run(import_)))
    }
}
