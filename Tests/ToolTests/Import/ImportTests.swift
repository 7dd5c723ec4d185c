import Foundation
import FetchIndexTestSupport
import Testing

@Suite struct ImportTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    @Test func quotedFieldsCarriageReturnsAndAByteOrderMarkAreAccepted() throws {
        let text =
            "\u{FEFF}title,price,note\r\n\"影, との \"\"戦い\"\"\",777,\"two\r\nlines\"\r\n帰還,820,\r\n\r\n plain ,5,'x'\r\n"
        let file = try tool.file("本.csv", text)
        let result = try tool.run("import", tool.store, file, "--entity", "Book", "--output", "json")
        #expect(result.status == 0 && result["inserted"] as? Int == 3)
        let rows = try tool.rows("--entity", "Book", "--sort", "price:desc")
        #expect(rows.map { $0["title"] as? String } == ["帰還", "影, との \"戦い\"", " plain "])
        #expect(rows[1]["note"] as? String == "two\r\nlines" && rows[0]["note"] is NSNull)
        #expect(rows[1]["price"] as? Int == 777)
    }

    @Test func typesAreInferredUnlessTheyAreDeclared() throws {
        let file = try tool.file(
            "types.tsv",
            "code\tcount\trate\tflag\tday\tname\n007\t-5\t1.5\ttrue\t2016-05-16\t\"x\n010\t12\t3\tfalse\t2016-05-16T10:30:00+09:00\t\n"
        )
        #expect(try tool.run("import", tool.store, file, "--entity", "Thing", "--types", "count:decimal").status == 0)
        let entities = try tool.run("info", tool.store, "--output", "json")["entities"] as? [[String: Any]]
        let attributes = entities?.first?["attributes"] as? [[String: Any]] ?? []
        #expect(
            attributes.map { $0["type"] as? String } == ["string", "decimal", "decimal", "boolean", "date", "string"])
        let rows = try tool.rows("--entity", "Thing", "--sort", "count")
        #expect(rows[0]["name"] as? String == "\"x", "tab-separated values have no quotes")
        #expect(rows[0]["code"] as? String == "007" && rows[1]["day"] as? String == "2016-05-16T01:30:00Z")
    }

    @Test func jsonLinesAreImported() throws {
        let file = try tool.file(
            "a.jsonl", "{\"name\":\"a\",\"n\":1,\"f\":1.5}\n\n{\"name\":\"b\",\"n\":null,\"f\":2,\"ok\":true}\n")
        #expect(try tool.run("import", tool.store, file, "--entity", "E", "--key", "name").status == 0)
        let rows = try tool.rows("--entity", "E", "--sort", "name")
        #expect(rows[0]["n"] as? Int == 1 && rows[1]["f"] as? Double == 2 && rows[1]["ok"] as? Bool == true)
    }

    @Test func repeatingAnImportChangesNoRowsAndMakesNoCommit() throws {
        let file = try tool.file("a.csv", "id,price\na,1\nb,2\n")
        _ = try tool.run("import", tool.store, file, "--entity", "Book", "--key", "id")
        let before = try tool.run("info", tool.store, "--output", "json")
        let second = try tool.run("import", tool.store, file, "--entity", "Book", "--key", "id", "--output", "json")
        #expect(second["unchanged"] as? Int == 2 && second["inserted"] as? Int == 0)
        let after = try tool.run("info", tool.store, "--output", "json")
        #expect(after["commit"] as? Int == before["commit"] as? Int)
        let changed = try tool.file("b.csv", "id,price\na,1\nb,3\nc,4\n")
        let third = try tool.run("import", tool.store, changed, "--entity", "Book", "--key", "id", "--output", "json")
        #expect(third["unchanged"] as? Int == 1 && third["updated"] as? Int == 1 && third["inserted"] as? Int == 1)
    }

    @Test(arguments: [
        ("fields.csv", "a,b\n1,2\n1,2,3\n", "line 3: it has 3 fields, not 2"),
        ("number.csv", "a,price\nx,1\ny,12x\n", "line 3, column 2 (price): \"12x\" is not an integer"),
        ("multi.csv", "a,price\n\"x\ny\nz\",1\ny,12x\n", "line 5, column 2 (price): \"12x\" is not an integer"),
        ("key.csv", "a,price\nx,1\n,2\n", "line 3, column 1 (a): a value is required"),
        ("quote.csv", "a,b\nx,1\n\"y,2\n", "line 3: the quotation mark that opens a field here is never closed"),
        (
            "header.csv", "a,a\nx,1\n",
            "line 1, column 2: the header must name the columns, each with a name of its own in UTF-8; column 1 is called "
                + "\"a\", too"
        ),
    ]) func aBadRowEndsTheImportWithItsLineAndReason(name: String, text: String, expected: String) throws {
        let file = try tool.file(name, text)
        // The types are declared, because the bad row would change inferred types.
        let result = try tool.run(
            "import", tool.store, file, "--entity", "T", "--key", "a", "--types",
            name == "header.csv" ? "" : text.contains("price") ? "price:integer" : "b:integer")
        #expect(result.status == 1)
        let saved = name == "header.csv" ? "" : "; 1 row before it is saved"
        #expect(result.error == "fetchindex: \(file), \(expected)\(saved)\n")
    }

    @Test func invalidUTF8IsReportedAsABadRow() throws {
        var data = Data("name\tprice\nä\t1\n".utf8)
        data.append(contentsOf: [0xFF, 0xFE, 0x09, 0x32, 0x0A])
        data.append(Data("b\tx\nc\t3\n".utf8))
        let file = try tool.file("a.tsv", data)
        let stopped = try tool.run(
            "import", tool.store, file, "--entity", "T", "--key", "name", "--types", "price:integer")
        #expect(stopped.status == 1)
        #expect(stopped.error.contains("line 3, column 1 (name): it is not valid UTF-8"))
        #expect(try tool.rows("--entity", "T").count == 1)
        let skipped = try tool.run(
            "import", tool.store, file, "--entity", "T", "--key", "name", "--skip-bad-rows", "--output", "json")
        #expect(skipped.status == 0 && skipped["badRowCount"] as? Int == 2 && skipped["inserted"] as? Int == 1)
        #expect(
            (skipped["badRows"] as? [String])?.last?.contains("line 4, column 2 (price): \"x\" is not an integer")
                == true)
        #expect(try tool.rows("--entity", "T", "--sort", "price").map { $0["name"] as? String } == ["ä", "c"])
    }

    @Test func wrongUsageExitsWithTwoAndBadDataWithOne() throws {
        let file = try tool.file("a.csv", "id,price\na,1\n")
        let empty = try tool.file("empty.csv", "")
        #expect(try tool.run("import", tool.store, file, "--entity", "B", "--key", "nope").status == 2)
        #expect(try tool.run("import", tool.store, file, "--entity", "B", "--types", "price:money").status == 2)
        #expect(try tool.run("import", tool.store, file).status == 2)
        #expect(try tool.run("import", tool.store, empty, "--entity", "B").status == 1)
        #expect(try tool.run("import", tool.store, tool.folder.path + "/missing.csv", "--entity", "B").status == 1)
        #expect(try tool.run("import", tool.store, tool.folder.path, "--entity", "B", "--format", "csv").status == 1)
        #expect(try tool.run("import", tool.store, file, "--entity", "B", "--key", "id").status == 0)
        let other = try tool.file("b.csv", "id,pages\na,1\n")
        #expect(try tool.run("import", tool.store, other, "--entity", "B").status == 1)
        #expect(try tool.run("import", tool.store, file, "--entity", "B", "--key", "price").status == 2)
    }

    /// An import ends a transaction once it has 50,000 rows. These rows take two transactions.
    @Test func largeFilesAreImportedInBatches() throws {
        var text = "id\tsection\n"
        for number in 0..<60_000 { text += "id-\(number)\ts\(number % 7)\n" }
        let file = try tool.file("large.tsv", text)
        let result = try tool.run("import", tool.store, file, "--entity", "Row", "--key", "id", "--output", "json")
        #expect(result["inserted"] as? Int == 60_000 && result["commit"] as? Int == 2)
        #expect(try tool.run("check", tool.store).status == 0)
    }

    @Test func valuesOfMissingColumnsAreKept() throws {
        _ = try tool.run("import", tool.store, try tool.file("a.csv", "k,n,m\na,1,x\n"), "--entity", "E", "--key", "k")
        _ = try tool.run("import", tool.store, try tool.file("b.csv", "k,n\na,2\nb,3\n"), "--entity", "E", "--key", "k")
        let rows = try tool.rows("--entity", "E", "--sort", "k")
        #expect(rows[0]["n"] as? Int == 2 && rows[0]["m"] as? String == "x" && rows[1]["m"] is NSNull)
    }

    @Test func badJSONLinesAreSkipped() throws {
        let file = try tool.file("a.jsonl", "{\"n\":1}\nnonsense\n{\"n\":[1]}\n{\"n\":2}\n")
        #expect(
            try tool.run("import", tool.store, file, "--entity", "E").error.contains("line 2: it is not a JSON object"))
        let other = tool.folder.path + "/other"
        let result = try tool.run("import", other, file, "--entity", "E", "--skip-bad-rows", "--output", "json")
        #expect(result["inserted"] as? Int == 2 && result["badRowCount"] as? Int == 2)
    }

    @Test func aDayThatDoesNotExistIsNotADate() throws {
        let file = try tool.file("a.csv", "k,d\na,2016-02-31\n")
        let result = try tool.run("import", tool.store, file, "--entity", "E", "--types", "d:date")
        #expect(result.status == 1)
        #expect(result.error.contains("\"2016-02-31\" is not a date"))
    }

    @Test func typesThatContradictStoredOnesAreWrongUsage() throws {
        let file = try tool.file("a.csv", "k,n\na,1\n")
        #expect(try tool.run("import", tool.store, file, "--entity", "E", "--types", "n:nope").status == 2)
        #expect(!FileManager.default.fileExists(atPath: tool.store), "wrong usage creates no store")
        #expect(try tool.run("import", tool.store, file, "--entity", "E").status == 0)
        #expect(try tool.run("import", tool.store, file, "--entity", "E", "--types", "n:double").status == 2)
    }

    /// If keys are shuffled, the import may write the rows first and their unique keys later.
    @Test(arguments: [1, 7919]) func aStoppedImportReportsTheNumberOfSavedRows(step: Int) throws {
        let count = 120_000
        let rows = (0..<count).map { "k\(200_000 + $0 * step % count),\($0)\n" }
        let file = try tool.file("a.csv", "k,n\n" + rows.joined() + "x,y\n")
        let result = try tool.run("import", tool.store, file, "--entity", "E", "--key", "k", "--types", "n:integer")
        #expect(result.status == 1)
        #expect(result.error.hasSuffix("\"y\" is not an integer; 120,000 rows before it are saved\n"))
        let info = try tool.run("info", tool.store, "--output", "json")
        // A transaction ends once it has 50,000 rows.
        #expect(info["commit"] as? Int ?? 0 > 2)
        #expect(try tool.run("check", tool.store).status == 0)
        let again = try tool.run(
            "import", tool.store, file, "--entity", "E", "--key", "k", "--skip-bad-rows", "--output", "json")
        #expect(again["unchanged"] as? Int == count && again["inserted"] as? Int == 0)
    }
}
