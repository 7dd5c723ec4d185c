import Foundation
import FetchIndexTestSupport
import Testing

/// What users met on the way, each as they met it.
@Suite struct RoughEdgeTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    @Test func aFileWithoutRowsIsZeroRows() throws {
        let rows = try tool.file("rows.csv", "id,size\n1,2\n")
        let empty = try tool.file("empty.csv", ""), lines = try tool.file("empty.jsonl", "\n")
        for (file, error) in [(empty, "is empty"), (lines, "has no objects")] {
            let refused = try tool.run("import", tool.store, file, "--entity", "Row")
            #expect(refused.status == 1)
            #expect(refused.error.contains(error), "\(refused.error)")
        }
        #expect(try tool.run("import", tool.store, rows, "--entity", "Row", "--key", "id").status == 0)
        for file in [empty, lines] {
            let result = try tool.run("import", tool.store, file, "--entity", "Row", "--key", "id")
            #expect(result.status == 0, "\(result.error)")
            #expect(result.output.hasPrefix("0 rows in "), "\(result.output)")
            let typed = try tool.run(
                "import", tool.store, file, "--entity", "New", "--types", "name:string,size:integer", "--key", "name")
            #expect(typed.status == 0, "\(typed.error)")
        }
        let named = try tool.file("new.csv", "name,size\na,1\n")
        let more = try tool.run("import", tool.store, named, "--entity", "New", "--key", "name")
        #expect(more.output.hasPrefix("1 row in "), "\(more.output)\(more.error)")
    }

    /// What a failed import inferred is not for good.
    @Test func anEntityWithoutRowsTakesOtherTypes() throws {
        let text = (0..<1200).map { "\($0),\($0)\n" }.joined() + "1200,text\n"
        let rows = try tool.file("rows.csv", "id,size\n" + text)
        let wrong = ["import", tool.store, rows, "--entity", "Row", "--key", "id", "--types", "size:integer"]
        let first = try tool.run(wrong)
        #expect(first.status == 1)
        #expect(first.error.contains("line 1202"), "\(first.error)")
        let typed = ["import", tool.store, rows, "--entity", "Row", "--key", "id", "--types", "size:string"]
        let refused = try tool.run(typed)
        #expect(refused.status == 2)
        #expect(
            refused.error.contains(
                "--change size:string changes it, and `fetchindex model drop-entity` lets a failed first"),
            "\(refused.error)")
        let request = ["--entity", "Row", "--sort", "size", "--cache", "c", "--limit", "1"]
        #expect(try tool.run(["fetch", tool.store] + request).status == 0)
        let dropped = try tool.run("model", "drop-entity", tool.store, "--entity", "Row")
        #expect(dropped.output == "dropped Row with 1,200 objects\n", "\(dropped.error)")
        #expect(try tool.run("check", tool.store).status == 0)
        #expect(try tool.run("cache", "list", tool.store).output == "the store has no caches\n")
        #expect(try !tool.run("info", tool.store).output.contains("Row"))
        #expect(try tool.run("fetch", tool.store, "--entity", "Row").status == 2)
        let again = try tool.run(typed)
        #expect(again.output.hasPrefix("1,201 rows in "), "\(again.error)")
        #expect(try tool.run("check", tool.store).status == 0)
    }

    @Test func anEmptyEntityIsGivenTheKeyThatIsAskedFor() throws {
        let header = try tool.file("header.csv", "id,size\n"), rows = try tool.file("rows.csv", "id,size\n1,x\n2,y\n")
        #expect(try tool.run("import", tool.store, header, "--entity", "Row").status == 0)
        let keyed = try tool.run(
            "import", tool.store, rows, "--entity", "Row", "--key", "id", "--types", "id:integer,size:string")
        #expect(keyed.output.hasPrefix("2 rows in "), "\(keyed.error)")
        #expect(
            try tool.run("export", tool.store, "--entity", "Row", "--print-types").output == "id:integer,size:string\n")
        #expect(try tool.run("check", tool.store).status == 0)
    }

    /// The entity's types that aren't given stay, even if others are given.
    @Test func anEmptyEntityKeepsWhatIsNotGivenAnew() throws {
        let header = try tool.file("header.csv", "id,size,name\n"), rows = try tool.file("rows.csv", "id,size\n1,2\n")
        let keyed = ["import", tool.store, header, "--entity", "Row", "--key", "id", "--types", "id:integer"]
        #expect(try tool.run(keyed).status == 0)
        let typed = try tool.run(
            "import", tool.store, rows, "--entity", "Row", "--types", "size:integer", "--key", "id")
        #expect(typed.output.hasPrefix("1 row in "), "\(typed.error)")
        let printed = try tool.run("export", tool.store, "--entity", "Row", "--print-types").output
        #expect(printed == "id:integer,size:integer,name:string\n")
        let again = try tool.run("import", tool.store, rows, "--entity", "Row", "--key", "id")
        #expect(again.output.contains("0 inserted, 0 updated, 1 unchanged"), "\(again.output)\(again.error)")
    }

    @Test func theKeyOfAnEmptyFileMustBeKnown() throws {
        let empty = try tool.file("empty.csv", "")
        let unknown = try tool.run(
            "import", tool.store, empty, "--entity", "Row", "--types", "name:string", "--key", "id")
        #expect(unknown.status == 2)
        #expect(unknown.error.contains("id"), "\(unknown.error)")
    }

    @Test func namesWithCommasCanBeTyped() throws {
        let rows = try tool.file("rows.csv", "\"a,b\",c\n1,2\n")
        let types = ["--types", "`a,b`:integer,c:string"]
        #expect(try tool.run(["import", tool.store, rows, "--entity", "Row"] + types).status == 0)
        let printed = try tool.run("export", tool.store, "--entity", "Row", "--print-types").output
        #expect(printed == types[1] + "\n")
    }

    @Test func attributesCalledSectionAndRowHaveColumnsOfTheirOwn() throws {
        let rows = try tool.file("rows.csv", "section,row\nx,7\n")
        #expect(try tool.run("import", tool.store, rows, "--entity", "Row").status == 0)
        let output = try tool.run("fetch", tool.store, "--entity", "Row").output
        let header = output.split(separator: "\n").first { $0.contains("section") } ?? ""
        #expect(header.split { $0 == " " } == ["in", "section", "at", "row", "section", "row"], "\(output)")
    }

    @Test func aMigrationReadsTextsAsAnImportDoes() throws {
        let rows = try tool.file("rows.csv", "i,x,d,t\n0042,1.50,1.10,2024-01-02\n+7,nan,12E2,2024-01-02 03:04:05\n")
        #expect(try tool.run("import", tool.store, rows, "--entity", "Row", "--types", "*:string").status == 0)
        for change in ["i:integer", "x:double", "d:decimal", "t:date"] {
            let migrated = try tool.run("model", "migrate", tool.store, "--entity", "Row", "--change", change)
            #expect(migrated.status == 0, "\(change): \(migrated.error)")
        }
        let other = tool.folder.path + "/other"
        let types = "i:integer,x:double,d:decimal,t:date"
        #expect(try tool.run("import", other, rows, "--entity", "Row", "--types", types).status == 0)
        let exported = try [tool.store, other].map { try tool.run("export", $0, "--entity", "Row").output }
        #expect(exported[0] == exported[1])
        let inexact = try tool.file("inexact.csv", "x\n0.1234567890123456789\n")
        #expect(try tool.run("import", tool.store, inexact, "--entity", "Other", "--types", "x:string").status == 0)
        let refused = try tool.run("model", "migrate", tool.store, "--entity", "Other", "--change", "x:double")
        #expect(
            refused.status == 1 && refused.error.contains("is not a double; nothing was changed"), "\(refused.error)")
    }

    /// An unknown name is told with the one that may be meant.
    @Test func unknownNamesComeWithNearOnes() throws {
        let rows = try tool.file("rows.csv", "code,price\n1,2\n")
        let key = ["--entity", "Package", "--key", "code"]
        #expect(try tool.run(["import", tool.store, rows] + key).status == 0)
        let cached = ["fetch", tool.store, "--entity", "Package", "--sort", "price", "--cache", "by price"]
        #expect(try tool.run(cached).status == 0)
        let change = try tool.file("c.jsonl", "{\"op\":\"insert\",\"values\":{\"pirce\":1}}\n")
        let late = try tool.file("late.csv", "code,Price\n3,4\n")
        let author = try tool.file("a.csv", "name,book\nx,1\n")
        for (arguments, hint) in [
            (["fetch", tool.store, "--entity", "Pakage"], "no entity \"Pakage\"; there is \"Package\""),
            (["apply", tool.store, change, "--entity", "package"], "no entity \"package\"; there is \"Package\""),
            (
                ["fetch", tool.store, "--entity", "Package", "--sort", "pirce"],
                "no attribute \"pirce\"; there is \"price\""
            ),
            (
                ["fetch", tool.store, "--entity", "Package", "--section", "Code"],
                "no attribute \"Code\"; there is \"code\""
            ),
            (
                ["fetch", tool.store, "--entity", "Package", "--where", "prize > 1"],
                "\"prize\", which is not an attribute of Package; there is \"price\""
            ),
            (["fetch", tool.store, "--entity", "Package", "--columns", "prices"], "\"prices\"; there is \"price\""),
            (
                ["changes", tool.store, "--cache", "by prise"],
                "no cache \"by prise\" in the store; there is \"by price\""
            ),
            (["cache", "delete", tool.store, "byprice"], "no cache \"byprice\" in the store; there is \"by price\""),
            (["refresh", tool.store, "By Price"], "there is \"by price\""),
            (["apply", tool.store, change, "--entity", "Package"], "no attribute \"pirce\"; there is \"price\""),
            (["import", tool.store, late] + key, "no such attribute; there is \"price\"; --add-columns adds it"),
            (
                ["import", tool.store, rows, "--entity", "New", "--key", "cod"],
                "no attribute \"cod\"; there is \"code\""
            ),
            (
                ["import", tool.store, author, "--entity", "Author", "--relate", "book=Packag.code"],
                "no entity of the store; there is \"Package\""
            ),
            (["model", "plan", tool.store, "--entity", "Package", "--drop", "pric"], "\"pric\"; there is \"price\""),
        ] {
            let result = try tool.run(arguments)
            #expect(result.status != 0 && result.error.contains(hint), "\(arguments): \(result.error)")
        }
        #expect(try !tool.run("fetch", tool.store, "--entity", "Author").error.contains("there is"))
    }

    @Test func argumentsThatAreNotUTF8AreRefused() throws {
        let rows = try tool.file("rows.csv", "id\n1\n")
        let process = tool.process([])
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = [
            "-c", "exec \"$0\" import \"$1/$(printf 'caf\\351')\" \"$2\" --entity Row 2>&1", Tool.executable.path,
            tool.folder.path, rows,
        ]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 2)
        #expect(text.contains("is not UTF-8"), "\(text)")
    }

    @Test func whatAKilledCompactionLeavesIsRemoved() throws {
        let rows = try tool.file("rows.csv", "id\n1\n")
        #expect(try tool.run("import", tool.store, rows, "--entity", "Row", "--key", "id").status == 0)
        let partial = tool.store + "/data.mdb.partial"
        try Data(repeating: 7, count: 5000).write(to: URL(fileURLWithPath: partial))
        #expect(try tool.run("info", tool.store).status == 0)
        #expect(access(partial, F_OK) != 0)
    }

    /// Little address space makes sorting go to disk, and no trap.
    @Test(.disabled(if: isUnderSanitizer)) func aSortInLittleMemoryEnds() throws {
        let text = (0..<60_000).map { "\($0),\(String(repeating: "t", count: 150))\($0 * 7919 % 60_000)\n" }.joined()
        let rows = try tool.file("rows.csv", "id,text\n" + text)
        #expect(try tool.run("import", tool.store, rows, "--entity", "Row", "--key", "id").status == 0)
        let process = tool.process([])
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = [
            "-c", "ulimit -v 300000; exec \"$0\" fetch \"$1\" --entity Row --sort text --cache c --limit 1 2>&1",
            Tool.executable.path, tool.store,
        ]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationReason == .exit)
        #expect(output.split(separator: "\n").count == 1 || process.terminationStatus == 0, "\(output.prefix(500))")
    }
}
