import Foundation
import FetchIndexTestSupport
import Testing

extension CommandTests {
    @Test func theExplainOptionPrintsThePlanAndTheRowsRead() throws {
        let all = ["fetch", tool.store, "--entity", "Book", "--where", "id == '3'", "--explain"]
        let text = try tool.run(all).output
        #expect(text.contains("\nplan: unique key id\nrows read: 1 of 5\nrows matched: 1\n"), "\(text)")
        let scan = try tool.run("fetch", tool.store, "--entity", "Book", "--where", "title CONTAINS '影'", "--explain")
        #expect(scan.output.contains("plan: scan of all records\nrows read: 5 of 5\nrows matched: 1\n"))
        for (limit, read) in [
            ("1", "scan of the first records\nrows read: 1"), ("5", "scan of all records\nrows read: 5"),
        ] {
            let first = try tool.run("fetch", tool.store, "--entity", "Book", "--limit", limit, "--explain").output
            #expect(first.contains("plan: \(read) of 5\nrows matched: 5\n"), "\(first)")
        }
        let json = try tool.run(all + ["--output", "json"])
        let plan = json["plan"] as? [String: Any]
        #expect(plan?["source"] as? String == "uniqueKey")
        #expect(plan?["rowsMatched"] as? Int == 1)
        _ = try fetch()
        let hit = try tool.run(["fetch", tool.store, "--explain"] + request).output
        #expect(hit.contains("plan: the cache \"by publisher\", which is current\nrows read: 0 of 5\n"), "\(hit)")
    }
}
