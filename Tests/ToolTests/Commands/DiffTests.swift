import FetchIndex
import FetchIndexTestSupport
import Foundation
import Testing

/// `diff`, `import --delta-out`, and the reports of changes.
@Suite struct DiffTests {
    private static let columns = "code,name,size,day\n"
    let tool: Tool

    init() throws { tool = try Tool() }

    /// Writes a catalogue of random rows. Texts need quotation marks, empty fields are null.
    private func catalogue(_ name: String, _ random: inout SeededGenerator) throws -> String {
        let names = ["a", "ä, \"b\"", "", "\"\"", "<i>|*x*</i>", "\t"]
        var rows = ""
        for code in 0..<60 where Int.random(in: 0..<4, using: &random) > 0 {
            let name = names.randomElement(using: &random) ?? ""
            let quoted =
                name.isEmpty || name == "\"\""
                ? name
                : "\"\(name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\""))\""
            let size = Bool.random(using: &random) ? "" : "\(Int.random(in: 0..<3, using: &random)).5"
            rows += "\(code),\(quoted),\(size),2026-01-0\(Int.random(in: 1...3, using: &random))\n"
        }
        return try tool.file(name, Self.columns + rows)
    }

    private func store(_ name: String, _ file: String) throws -> String {
        let store = tool.folder.path + "/" + name
        let result = try tool.run(
            "import", store, file, "--entity", "Row", "--key", "code", "--types",
            "name:string,size:decimal,day:date")
        #expect(result.status == 0, "\(result.error)")
        return store
    }

    private func rows(_ store: String) throws -> String {
        try tool.run("export", store, "--entity", "Row", "--sort", "code").output
    }

    /// The differences of two catalogues, applied to the first one, give the second one; so does the delta of an import.
    @Test(arguments: 0..<6 as Range<UInt64>) func differencesLeadFromOneCatalogueToTheOther(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed &+ TestSettings.seed &* 100)
        let (first, second) = (try catalogue("a.csv", &random), try catalogue("b.csv", &random))
        let wanted = try rows(store("b", second))
        let diff = try tool.run("diff", first, second, "--key", "code", "--output", "jsonl")
        #expect(diff.status == 0, "\(diff.error)")
        let a = try store("a", first)
        let applied = try tool.run("apply", a, try tool.file("diff.jsonl", diff.output))
        #expect(applied.status == 0, "seed \(seed): \(applied.error)")
        #expect(try rows(a) == wanted, "seed \(seed)")
        // A store instead of a file.
        #expect(try tool.run("diff", a, tool.folder.path + "/b", "--if-changed").status == 3, "seed \(seed)")

        let (c, d) = (try store("c", first), try store("d", first))
        let delta = tool.folder.path + "/delta.jsonl"
        let imported = try tool.run(
            "import", c, second, "--entity", "Row", "--key", "code", "--replace", "--replace-limit", "100",
            "--delta-out",
            delta)
        #expect(imported.status == 0, "\(imported.error)")
        #expect(try tool.run("apply", d, delta).status == 0)
        #expect(try rows(c) == wanted && rows(d) == wanted, "seed \(seed)")
    }

    @Test func aRefusedImportLeavesNoDelta() throws {
        let (first, second) = (try tool.file("a.csv", "code\n1\n2\n"), try tool.file("b.csv", "code\n1\n"))
        let store = tool.folder.path + "/store"
        #expect(try tool.run("import", store, first, "--entity", "Row", "--key", "code").status == 0)
        let delta = tool.folder.path + "/delta.jsonl"
        let arguments = [
            "import", store, second, "--entity", "Row", "--key", "code", "--replace", "--delta-out", delta,
        ]
        #expect(try tool.run(arguments + ["--rule", "deleted at most 0"]).status == 1)
        #expect(!FileManager.default.fileExists(atPath: delta))
        #expect(try tool.run(arguments + ["--dry-run", "--rule", "deleted at most 0"]).status == 1)
        #expect(!FileManager.default.fileExists(atPath: delta))
        #expect(try tool.run(Array(arguments.dropLast()) + [second]).status == 2)
        #expect(try tool.run(arguments + ["--dry-run"]).status == 0)
        #expect(try String(contentsOfFile: delta, encoding: .utf8) == "{\"op\":\"delete\",\"key\":2}\n")
    }

    @Test func anOrderGivesPlaces() throws {
        let first = try tool.file("a.csv", "code,kind,size\n1,x,1\n2,x,2\n3,y,3\n")
        let second = try tool.file("b.csv", "code,kind,size\n1,x,9\n3,z,3\n4,z,4\n")
        let order = ["diff", first, second, "--key", "code", "--section", "kind", "--sort", "size"]
        let lines = try tool.run(order).output
        #expect(
            lines.contains("section delete from 1  y\n") && lines.contains("row delete from 0:1  #2  2\n"), "\(lines)")
        let summary = try tool.run(order + ["--summary"]).output
        #expect(summary.hasPrefix("a.csv → b.csv:\n3 rows: 1 inserted, 1 deleted, 1 moved, 1 updated\n"), "\(summary)")
        let csv = try tool.run(order + ["--output", "csv"]).output
        #expect(csv.hasPrefix("kind,id,key,entity,fromSection,") && csv.contains("\ndelete,2,2,Row,0,1,,,"), "\(csv)")
        // The order doesn't matter to a delta; a condition would delete rows that no longer meet it.
        let delta = try tool.run("diff", first, second, "--key", "code", "--output", "jsonl").output
        #expect(try tool.run(order + ["--output", "jsonl"]).output == delta && !delta.isEmpty)
        #expect(try tool.run(order + ["--output", "jsonl", "--where", "size > 1"]).status == 2)
        #expect(try tool.run("diff", first, first, "--key", "code", "--if-changed").status == 3)
        #expect(try tool.run("diff", first, second).status == 2)
        let lacking = try tool.run("diff", first, try tool.file("c.csv", "code,kind\n1,x\n2,x\n3,y\n"), "--key", "code")
        #expect(lacking.output == "update #1  1  size: 1 → \nupdate #2  2  size: 2 → \nupdate #3  3  size: 3 → \n")
        let other = try tool.run("diff", first, try tool.file("d.csv", "code,kind,size\n1,x,big\n"), "--key", "code")
        #expect(other.status == 1 && other.error.contains("--types gives both catalogues the same types"))
    }

    /// Equal catalogues make a whole document without rows, also if nothing was loaded to find that out.
    @Test func equalCataloguesAreAWholeDocument() throws {
        let (empty, rows) = (try tool.file("empty.csv", ""), try tool.file("rows.csv", "code\n1\n"))
        let stores = try ["a", "b"].map { try store($0, tool.file("full.csv", "code,name,size,day\n1,,,\n")) }
        for store in stores {
            let cached = ["fetch", store, "--sort", "code", "--aggregate", "fingerprint", "--cache", "c"]
            #expect(try tool.run(cached).status == 0)
        }
        let order = ["--section", "code", "--sort", "code"]
        let cases = [
            [empty, empty, "--key", "code"], [rows, rows, "--key", "code"], [empty, empty, "--key", "code"] + order,
            [rows, rows, "--key", "code"] + order, stores + ["--cache", "c"],
        ]
        for arguments in cases {
            func diff(_ options: String...) throws -> String {
                let result = try tool.run(["diff"] + arguments + options)
                #expect(result.status == 0, "\(arguments): \(result.error)")
                return result.output
            }
            let json = try JSONSerialization.jsonObject(with: Data(diff("--output", "json").utf8)) as? [String: Any]
            #expect((json?["rows"] as? [Any])?.isEmpty == true, "\(arguments)")
            let csv = try diff("--output", "csv")
            #expect(csv.hasPrefix("kind,id,key,entity,") && csv.split(separator: "\n").count == 1, "\(csv)")
            let markdown = try diff("--output", "markdown")
            #expect(markdown.hasPrefix("# ") && markdown.contains("no changes"), "\(markdown)")
            let html = try diff("--output", "html")
            #expect(html.contains("no changes") && html.contains("</html>"), "\(html)")
            #expect(try diff("--output", "jsonl").isEmpty)
            #expect(try diff() == "no changes\n")
            #expect(try tool.run(["diff"] + arguments + ["--output", "json", "--if-changed"]).status == 3)
        }
        let summary = try tool.run(["diff"] + cases[2] + ["--summary", "--output", "json"])
        #expect((summary["summary"] as? [String: Any])?["rowsAfter"] as? Int == 0, "\(summary.error)")
    }

    /// A store whose entity has a second unique attribute, which a diff of files doesn't know.
    private func storeWithTwoKeys(_ name: String, _ file: String) throws -> String {
        let store = tool.folder.path + "/" + name
        let code = AttributeDescription("code", .integer, isUnique: true)
        let entity = Entity("Row", [code, AttributeDescription("other", .string, isUnique: true)])
        _ = try PersistentContainer(path: store, model: Model(entities: [entity]))
        #expect(try tool.run("import", store, file, "--entity", "Row", "--key", "code").status == 0)
        return store
    }

    @Test(arguments: [
        "1,z\n2,y\n",  // taken from a deleted object
        "1,y\n2,x\n3,z\n",  // exchanged
        "1,y\n2,z\n3,x\n",  // exchanged in a ring
        "1,y\n2,z\n4,x\n",  // passed on, at last to a new object
        "2,x\n3,y\n5,z\n",
    ])
    func aDeltaAppliesIfObjectsTakeEachOthersUniqueValues(rows: String) throws {
        let first = try tool.file("a.csv", "code,other\n1,x\n2,y\n3,z\n")
        let second = try tool.file("b.csv", "code,other\n" + rows)
        let diff = try tool.run("diff", first, second, "--key", "code", "--output", "jsonl").output
        let kinds = diff.split(separator: "\n").map { $0.hasPrefix(#"{"op":"delete""#) }
        #expect(kinds == kinds.sorted { $0 && !$1 }, "deletions come first: \(diff)")
        let store = try storeWithTwoKeys("two keys", first)
        let reversed = diff.split(separator: "\n").reversed().map { $0 + "\n" }.joined()
        let dry = try tool.run("apply", store, try tool.file("reversed.jsonl", reversed), "--dry-run")
        #expect(dry.status == 0, "in any order: \(dry.error)")
        let applied = try tool.run("apply", store, try tool.file("delta.jsonl", diff))
        #expect(applied.status == 0, "\(applied.error)")
        #expect(try tool.run("diff", store, second, "--key", "code", "--if-changed").status == 3)
        #expect(try tool.run("check", store).status == 0)
        let found = try tool.run("fetch", store, "--where", "other == 'x'", "--output", "jsonl").output
        #expect(found.split(separator: "\n").count == (rows.contains("x") ? 1 : 0), "\(found)")
    }

    @Test func aUniqueValueThatStaysTakenIsAnErrorOfItsLine() throws {
        let store = try storeWithTwoKeys("two keys", tool.file("a.csv", "code,other\n1,x\n2,y\n3,z\n"))
        func apply(_ lines: String...) throws -> Tool.Result {
            try tool.run("apply", store, try tool.file("delta.jsonl", lines.joined(separator: "\n") + "\n"))
        }
        let taken = try apply(
            #"{"op":"update","key":1,"values":{"other":"y"}}"#, #"{"op":"update","key":3,"values":{"other":"w"}}"#)
        #expect(taken.status == 1 && taken.error.contains("line 1: Row.other must be unique"), "\(taken.error)")
        #expect(try apply(#"{"op":"insert","key":1,"values":{"other":"w"}}"#, "").error.contains("line 1: Row.code"))
        // A later update of a waiting object comes after the one that waits.
        let later = try apply(
            #"{"op":"update","key":1,"values":{"other":"y"}}"#, #"{"op":"update","key":1,"values":{"other":"v"}}"#, "",
            #"{"op":"update","key":2,"values":{"other":"x"}}"#)
        #expect(later.status == 0 && later.output.hasPrefix("2 transactions: 0 inserted, 2 updated"), "\(later.error)")
        let gone = try apply(
            #"{"op":"update","key":1,"values":{"other":"z"}}"#, #"{"op":"delete","key":1}"#,
            #"{"op":"upsert","key":7,"values":{"other":"z"}}"#, #"{"op":"delete","key":3}"#)
        #expect(gone.status == 0, "\(gone.error)")
        #expect(
            try tool.run("fetch", store, "--sort", "code", "--output", "csv").output == "code,other\n2,x\n7,z\n")
        #expect(try tool.run("check", store).status == 0)
    }

    @Test func emptyCataloguesAndAbsentMembersAreCompared() throws {
        let rows = try tool.file("a.jsonl", #"{"code":1,"x":5}"# + "\n" + #"{"code":2,"x":6}"# + "\n")
        let fewer = try tool.file("b.jsonl", #"{"code":1}"# + "\n" + #"{"code":2,"x":6}"# + "\n")
        let empty = try tool.file("empty.jsonl", "")
        func diff(_ first: String, _ second: String) throws -> String {
            let result = try tool.run("diff", first, second, "--key", "code", "--output", "jsonl")
            #expect(result.status == 0, "\(result.error)")
            return result.output
        }
        #expect(try diff(rows, fewer) == #"{"op":"update","key":1,"values":{"x":null}}"# + "\n")
        #expect(try diff(rows, empty) == #"{"op":"delete","key":1}"# + "\n" + #"{"op":"delete","key":2}"# + "\n")
        #expect(try diff(empty, rows).split(separator: "\n").count == 2)
        #expect(try diff(empty, empty) == "")
        #expect(try tool.run("diff", empty, empty, "--key", "code", "--if-changed").status == 3)
        let document = try tool.file("c.json", #"[{"code":1,"x":5},{"code":2,"x":7}]"#)
        #expect(try diff(rows, document) == #"{"op":"update","key":2,"values":{"x":7}}"# + "\n")
        // A column without values changes nothing.
        let (one, other) = (try tool.file("e1.csv", "k,v\n1,a\n"), try tool.file("e2.csv", "k,v,x\n1,a,\n"))
        #expect(try tool.run("diff", one, other, "--key", "k", "--if-changed").status == 3)
    }

    @Test func theLastRowOfARepeatedKeyCounts() throws {
        let first = try tool.file("a.csv", "code,name\n1,a\n2,b\n1,z\n1,c\n")
        let second = try tool.file("b.csv", "code,name\n2,b\n1,x\n1,c\n3,d\n")
        let diff = try tool.run("diff", first, second, "--key", "code")
        #expect(diff.status == 0 && diff.output == "insert #3  3\n")
        #expect(
            diff.error == """
                fetchindex: a.csv: 2 rows have the code of a later row, which counts instead
                fetchindex: b.csv: 1 row has the code of a later row, which counts instead

                """, "\(diff.error)")
    }

    @Test func aFaultOfACatalogueIsOneSentenceWithItsName() throws {
        let first = try tool.file("a.csv", "code,name\n1,a\n")
        func error(_ text: String, _ options: String...) throws -> String {
            let second = try tool.file("b.csv", text)
            let result = try tool.run(["diff", first, second, "--key", "code"] + options)
            #expect(result.status != 0 && result.output.isEmpty)
            return result.error.replacingOccurrences(of: tool.folder.path + "/", with: "")
        }
        // The advice on types is only for a value of another type.
        #expect(
            try error("code,name\nx,a\n") == """
                fetchindex: b.csv, line 2, column 1 (code): "x" is not an integer; --types gives both catalogues the same types

                """)
        #expect(try error("code,name\n,a\n") == "fetchindex: b.csv, line 2, column 1 (code): a value is required\n")
        #expect(try error("code,name\n1\n") == "fetchindex: b.csv, line 2: it has 1 field, not 2\n")
        #expect(try error("name\na\n") == "fetchindex: b.csv has no column \"code\"\n")
        let store = try store("s", tool.file("c.csv", "code,name,size,day\n1,a,,\n"))
        let unknown = try tool.run("diff", store, first, "--entity", "Rwo")
        #expect(unknown.error.contains("s: the store has no entity \"Rwo\""), "\(unknown.error)")
    }

    /// The texts of rows mustn't become syntax of the page.
    @Test func reportsEscapeTexts() throws {
        let first = try tool.file("a.csv", "code,name\n1,old\n2,b\n")
        let second = try tool.file("b.csv", "code,name\n1,<script>*|x|*\n3,c\n")
        let markdown = try tool.run("diff", first, second, "--key", "code", "--output", "markdown")
        #expect(markdown.status == 0, "\(markdown.error)")
        #expect(markdown.output.hasPrefix("# a.csv → b.csv\n"), "\(markdown.output)")
        #expect(markdown.output.contains("\n1 inserted, 1 deleted, 1 updated\n"), "\(markdown.output)")
        #expect(markdown.output.contains(#"  - name: old → \<script\>\*\|x\|\*"#), "\(markdown.output)")
        let html = try tool.run("diff", first, second, "--key", "code", "--output", "html").output
        #expect(html.contains("name: <del>old</del> → <ins>&lt;script&gt;*|x|*</ins>"), "\(html)")
        #expect(!html.contains("<script"))
    }

    @Test func theReportOfAChangeIsLimited() throws {
        let file = try tool.file("a.csv", "code,kind\n" + (0..<30).map { "\($0),\($0 % 10)\n" }.joined())
        #expect(try tool.run("import", tool.store, file, "--entity", "Row", "--key", "code").status == 0)
        #expect(try tool.run("fetch", tool.store, "--section", "kind", "--sort", "code", "--cache", "c").status == 0)
        #expect(try tool.run("bookmark", "add", tool.store, "mail").status == 0)
        let deletions = try tool.file("d.txt", (0..<30).filter { $0 % 10 < 5 }.map { "\($0)\n" }.joined())
        #expect(try tool.run("apply", tool.store, "--deletes", deletions).status == 0)
        let changes = ["changes", tool.store, "--cache", "c", "--output", "markdown", "--limit", "3"]
        let report = try tool.run(changes + ["--since", "mail", "--advance"])
        #expect(report.output.contains("\nfrom commit 1 to commit 2\n"), "\(report.error)")
        #expect(report.output.contains("\n30 rows → 15: 15 deleted\n") && report.output.contains("and 2 more sections"))
        #expect(report.output.contains("\n## 15 deleted\n") && report.output.contains("\nand 12 more\n"))
        #expect(report.output.components(separatedBy: "\n- **").count == 4, "\(report.output)")
        // The bookmark has moved.
        #expect(try tool.run(changes + ["--since", "mail"]).output.contains("15 rows, no changes"))
        #expect(try tool.run(changes).output.contains("15 deleted"))
        #expect(try tool.run(changes + ["--if-changed"]).status == 3)
        let objects = ["changes", tool.store, "--entity", "Row", "--since", "1", "--output", "html"]
        #expect(try tool.run(objects).output.contains("<p>15 deleted</p>"))
    }
}
