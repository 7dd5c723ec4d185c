import Foundation
import TestSupport
import Testing

/// `changes --output csv|tsv|jsonl`: a line for each changed row.
@Suite struct ChangesOutputTests {
    let tool: Tool

    init() throws {
        tool = try Tool()
        try importRows("1,A,5,\"a \"\"note\"\", 1\"\n2,A,7,\n3,B,9,x\n")
        try fetch()
    }

    private func importRows(_ rows: String, _ options: String...) throws {
        let file = try tool.file("books.csv", "code,house,price,note\n" + rows)
        let result = try tool.run(
            ["import", tool.store, file, "--entity", "Book", "--key", "code"] + options)
        #expect(result.status == 0, "\(result.error)")
    }

    private func fetch() throws {
        let request = ["--entity", "Book", "--sort", "price", "--section", "house", "--cache", "c", "--limit", "0"]
        #expect(try tool.run(["fetch", tool.store] + request).status == 0)
    }

    private func changes(_ format: String) throws -> Tool.Result {
        try tool.run("changes", tool.store, "--cache", "c", "--output", format)
    }

    /// Row 1 goes, 2 is updated, 3 moves to another section, 4 is new.
    private func change() throws {
        try importRows("2,A,7,new\n3,C,9,x\n4,B,1,\n", "--replace")
    }

    @Test func tablesOfRows() throws {
        try change()
        let csv = try changes("csv")
        #expect(csv.status == 0, "\(csv.error)")
        let lines = csv.output.split(separator: "\n").map(String.init)
        #expect(
            lines == [
                "kind,id,key,entity,fromSection,fromRow,toSection,toRow,old",
                #"delete,1,1,,0,0,,,"{""code"":1,""house"":""A"",""note"":""a \""note\"", 1"",""price"":5}""#,
                "insert,4,4,,,,0,0,", "move,3,3,,1,0,2,0,", "update,2,2,,0,1,1,0,",
            ])
        // Told once: now nothing has changed.
        #expect(try changes("tsv").output == "kind\tid\tkey\tentity\tfromSection\tfromRow\ttoSection\ttoRow\told\n")
    }

    @Test func linesOfJSON() throws {
        #expect(try changes("jsonl").output.isEmpty)
        try change()
        let lines = try changes("jsonl").output.split(separator: "\n").map {
            try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
        }
        #expect(lines.map { $0?["kind"] as? String } == ["delete", "insert", "move", "update"])
        #expect(lines.map { $0?["key"] as? Int } == [1, 4, 3, 2])
        #expect((lines[0]?["old"] as? [String: Any])?["price"] as? Int == 5)
        #expect(lines[2]?["to"] as? [Int] == [2, 0])
    }
}
