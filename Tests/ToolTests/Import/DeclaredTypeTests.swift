import Foundation
import FetchIndexTestSupport
import Testing

/// If the type of a column is declared, each of its texts keeps its value or is refused. A double keeps its value if it
/// prints the text's digits again, at the text's length or in its own shortest form.
@Suite struct DeclaredTypeTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    @Test(arguments: [
        ("double", "0.1234567890123456789", "is a number that a double would change"),
        ("double", "9007199254740993", "is a number that a double would change"),
        ("double", "1e-400", "is a number that a double would change"),
        ("decimal", "1234567890123456789012345678901234567890.5", "of at most 38 digits, would change"),
        ("double", "NaN", "is not a double; write nan, inf or -inf"),
        ("double", "-Infinity", "is not a double; write nan, inf or -inf"),
        ("date", "2024/01/02", "is not a date; write 2024-01-31, 2024-01-31T03:04:05Z or "),
        ("integer", "1.5", "is not an integer"),
    ]) func aTextThatItsTypeCannotKeepIsReportedAsABadRow(type: String, text: String, reason: String) throws {
        let file = try tool.file("a.csv", "k,v\n1,\(text)\n")
        let result = try tool.run("import", tool.store, file, "--entity", "E", "--types", "v:\(type)")
        #expect(result.status == 1 && result.error.contains("\"\(text)\" ".prefix(30)), "\(result.error)")
        #expect(result.error.contains(reason), "\(result.error)")
        let change = try tool.file("c.jsonl", "{\"op\":\"insert\",\"values\":{\"v\":\"\(text)\"}}\n")
        let applied = try tool.run("apply", tool.store, change, "--entity", "E")
        #expect(applied.status == 1 && applied.error.contains(reason), "\(applied.error)")
    }

    @Test func textsThatTheirDeclaredTypeKeepsAreRead() throws {
        let file = try tool.file(
            "a.csv",
            "i,x,d\n0042,0.10000000000000001,001.50\n+7,5.684341886080802e-14,12E2\n-0,1e22,-0\n9,-0.0,.5\n9,2,1e-3\n")
        #expect(
            try tool.importedTypes(file, "--types", "i:integer,x:double,d:decimal") == "i:integer,x:double,d:decimal\n")
        #expect(
            try tool.exportedRows()
                == "i,x,d\n42,0.1,1.5\n7,5.684341886080802e-14,1200\n0,1e+22,0\n9,-0.0,0.5\n9,2.0,0.001\n")
    }

    @Test(arguments: ["http://a.example/ä", "http://a.example/a b", "http://a.example/%zz"])
    func aURLKeepsItsTextOrIsReportedAsABadRow(url: String) throws {
        let file = try tool.file("a.csv", "k,u\n1,http://a.example/x?y=1\n2,\(url)\n")
        let result = try tool.run(
            "import", tool.store, file, "--entity", "E", "--key", "k", "--types", "u:url", "--skip-bad-rows")
        #expect(result.output.contains("1 inserted"), "\(result.output)\(result.error)")
        #expect(result.output.contains("(u): \"\(url)\" is not a URL"), "\(result.output)")
        #expect(try tool.exportedRows() == "k,u\n1,http://a.example/x?y=1\n")
    }

    /// For a declared integer that isn't a key, the spelling of a JSON number doesn't matter: 2.0 is the integer 2.
    @Test func wholeJSONNumbersOfADeclaredIntegerAreIntegers() throws {
        let file = try tool.file("a.jsonl", "{\"k\":\"a\",\"v\":2.0}\n{\"k\":\"b\",\"v\":1e2}\n{\"k\":\"c\",\"v\":3}\n")
        #expect(try tool.importedTypes(file, "--types", "v:integer", "--key", "k") == "k:string,v:integer\n")
        #expect(try tool.exportedRows() == "k,v\na,2\nb,100\nc,3\n")
        let other = tool.store + " other"
        #expect(try tool.run("import", other, file, "--entity", "E", "--key", "k").status == 0)
        #expect(try tool.run("export", other, "--entity", "E", "--print-types").output == "k:string,v:double\n")
    }

    @Test func aDeclaredTextKeepsTheSpellingOfJSONNumbers() throws {
        let file = try tool.file("a.jsonl", "{\"k\":2.0,\"v\":1e2,\"w\":true}\n{\"k\":2,\"v\":1E+2,\"w\":-0.0}\n")
        #expect(try tool.importedTypes(file, "--types", "*:string", "--key", "k") == "k:string,v:string,w:string\n")
        #expect(try tool.exportedRows() == "k,v,w\n2.0,1e2,true\n2,1E+2,-0.0\n")
    }

    @Test func aStarDeclaresTheTypeOfAllOtherColumns() throws {
        let file = try tool.file("a.csv", "code,n,day\n1,2,2024-01-02\n3,4,2024-01-03\n")
        #expect(
            try tool.importedTypes(file, "--types", "*:string,n:integer", "--key", "code")
                == "code:string,n:integer,day:string\n")
        #expect(
            try tool.run("import", tool.store, file, "--entity", "E", "--key", "code", "--types", "*:string,n:integer")
                .status == 0)
    }

    @Test func afterAFailedFirstImportTheErrorSaysHowToDeclareTheType() throws {
        let bad = try tool.file("bad.csv", "a code,n\n42,1,2\n43,1\n")
        let arguments = ["--entity", "E", "--key", "a code"]
        #expect(try tool.run(["import", tool.store, bad] + arguments).status == 1)
        for text in ["0042", "x"] {
            let file = try tool.file("a.csv", "a code,n\n\(text),1\n")
            let refused = try tool.run(["import", tool.store, file] + arguments)
            let way = "; --types `a code`:string imports the column as text; 0 rows before it are saved"
            #expect(refused.status == 1 && refused.error.contains(way), "\(refused.error)")
            let replaced = try tool.run(["import", tool.store, file, "--replace"] + arguments)
            #expect(replaced.error.contains("imports the column as text; nothing was changed"))
        }
        let file = try tool.file("b.csv", "a code,n\n0042,1\n0043,x\n")
        let result = try tool.run(["import", tool.store, file, "--types", "`a code`:string"] + arguments)
        #expect(result.status == 1 && !result.error.contains("--types"), "--types cannot help once E has objects")
        #expect(try tool.exportedRows() == "a code,n\n0042,1\n")
    }

    @Test func aMigrationReadsTextsLikeAnImport() throws {
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
}
