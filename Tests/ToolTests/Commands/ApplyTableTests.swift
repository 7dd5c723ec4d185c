import FetchIndexTestSupport
import Foundation
import Testing

/// `apply` of CSV and TSV, and `--deletes`.
@Suite struct ApplyTableTests {
    private let tool: Tool

    init() throws {
        tool = try Tool()
        let file = try tool.file("rows.csv", "id,n,t\n1,10,a\n2,20,b\n3,30,c\n4,40,d\n")
        #expect(try tool.run("import", tool.store, file, "--entity", "E", "--key", "id").status == 0)
    }

    private var rows: String {
        get throws { try tool.run("fetch", tool.store, "--sort", "id", "--output", "csv").output }
    }

    @Test func theRowsOfAFileAreOneTransaction() throws {
        let changes = try tool.file(
            "changes.csv",
            "op,id,n,t\nupdate,1,11,\ninsert,5,50,\"e,\"\nupsert,2,22,b\nupsert,6,60,f\ndelete,3,,ignored\n")
        let result = try tool.run("apply", tool.store, changes)
        #expect(result.output == "1 transaction: 2 inserted, 2 updated, 0 unchanged, 1 deleted\n", "\(result.error)")
        #expect(try rows == "id,n,t\n1,11,\n2,22,b\n4,40,d\n5,50,\"e,\"\n6,60,f\n")
        // A column that the file lacks stays as it is.
        let narrow = try tool.file("narrow.tsv", "op\tn\tid\nupdate\t99\t4\n")
        #expect(try tool.run("apply", tool.store, narrow).status == 0)
        #expect(try rows.contains("4,99,d\n"))
        let semicolon = try tool.file("semicolon", "id;op\n4;delete\n")
        #expect(try tool.run("apply", tool.store, semicolon, "--delimiter", ";").output.contains("1 deleted"))
    }

    @Test func anEmptyFileHasNoChanges() throws {
        for name in ["empty.csv", "empty.tsv", "empty.jsonl"] {
            let result = try tool.run("apply", tool.store, try tool.file(name, ""))
            #expect(result.status == 0 && result.output.contains("0 inserted"), "\(name): \(result.error)")
        }
    }

    @Test func aBadRowChangesNothing() throws {
        let before = try rows
        for (text, reason) in [
            ("op,id,n\nupdate,1,11\nrename,2,22\n", "line 3: \"op\" is \"rename\""),
            ("op,id,n\nupdate,1,11\nupdate,7,22\n", "line 3: there is no E with id \"7\""),
            ("op,id,n\nupdate,1,11\nupdate,2\n", "line 3: it has 2 fields, and the header has 3"),
            ("op,id,x\nupdate,1,11\n", "E has no attribute \"x\""), ("id,n\n1,11\n", "has no column \"op\""),
            ("op,n\nupdate,11\n", "has no column \"id\""), ("op,id,n\nupdate,,11\n", "needs a \"key\""),
            ("op,id,n\nupdate,1,eleven\n", "line 2: \"eleven\" for n"),
        ] {
            let result = try tool.run("apply", tool.store, try tool.file("bad.csv", text))
            #expect(result.status == 1 && result.error.contains(reason), "\(text): \(result.error)")
            #expect(try rows == before)
        }
        let invalid = try tool.file("invalid.csv", Data("op,id,t\nupdate,1,M".utf8) + [0xFC] + Data("ller\n".utf8))
        let refused = try tool.run("apply", tool.store, invalid)
        #expect(
            refused.status == 1 && refused.error.contains("line 2: ") && refused.error.contains("UTF-8"),
            "\(refused.error)")
        #expect(try rows == before)
        #expect(try tool.run("apply", tool.store, "-", "--deletes", "-").status == 2)
        let changes = try tool.file("good.csv", "op,id,n\nupdate,1,11\n")
        #expect(try tool.run("apply", tool.store, changes, "--deletes", tool.folder.path + "/none").status == 1)
        #expect(try rows == before)
    }

    @Test func deletesAreTheLastTransaction() throws {
        let keys = try tool.file("keys", "2\n\n3\n")
        let changes = try tool.file("changes.jsonl", "{\"op\":\"insert\",\"key\":9,\"values\":{\"n\":1}}\n")
        let result = try tool.run("apply", tool.store, changes, "--deletes", keys)
        #expect(result.output == "2 transactions: 1 inserted, 0 updated, 0 unchanged, 2 deleted\n", "\(result.error)")
        let again = try tool.run("apply", tool.store, "--deletes", keys)
        #expect(
            again.status == 1 && again.error.contains("keys, line 1: there is no E with id \"2\""), "\(again.error)")
        let ignored = try tool.run("apply", tool.store, "--deletes", keys, "--ignore-missing")
        #expect(ignored.output.contains("2 ignored"), "\(ignored.error)")
        #expect(try tool.run("apply", tool.store).status == 2)
        #expect(try rows.split(separator: "\n").count == 4)
    }
}
