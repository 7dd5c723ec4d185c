import Foundation
import FetchIndexTestSupport
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

    /// Row 1 is deleted, 2 is updated, 3 moves to another section, and 4 is new.
    private func change() throws {
        try importRows("2,A,7,new\n3,C,9,x\n4,B,1,\n", "--replace")
    }

    @Test func csvHasALineForEachChangedRow() throws {
        try change()
        let csv = try changes("csv")
        #expect(csv.status == 0, "\(csv.error)")
        let lines = csv.output.split(separator: "\n").map(String.init)
        #expect(
            lines == [
                "kind,id,key,entity,fromSection,fromRow,toSection,toRow,old,new,fromSectionName,toSectionName",
                #"delete,1,1,Book,0,0,,,"{""code"":1,""house"":""A"",""note"":""a \""note\"", 1"",""price"":5}",,A,"#,
                #"insert,4,4,Book,,,0,0,,"{""code"":4,""house"":""B"",""note"":null,""price"":1}",,B"#,
                #"move,3,3,Book,1,0,2,0,"{""code"":3,""house"":""B"",""note"":""x"",""price"":9}","#
                    + #""{""code"":3,""house"":""C"",""note"":""x"",""price"":9}",B,C"#,
                #"update,2,2,Book,0,1,1,0,"{""code"":2,""house"":""A"",""note"":null,""price"":7}","#
                    + #""{""code"":2,""house"":""A"",""note"":""new"",""price"":7}",A,A"#,
            ])
        // The batch was reported, so the next call prints only the header.
        #expect(try changes("tsv").output.split(separator: "\n").count == 1)
    }

    @Test func jsonlHasAnObjectForEachChangedRow() throws {
        #expect(try changes("jsonl").output.isEmpty)
        try change()
        let lines = try changes("jsonl").output.split(separator: "\n").map {
            try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
        }
        #expect(lines.map { $0?["kind"] as? String } == ["delete", "insert", "move", "update"])
        #expect(lines.map { $0?["key"] as? Int } == [1, 4, 3, 2])
        #expect((lines[0]?["old"] as? [String: Any])?["price"] as? Int == 5)
        #expect(lines[2]?["to"] as? [Int] == [2, 0])
        #expect(lines.map { $0?["entity"] as? String } == ["Book", "Book", "Book", "Book"])
        #expect((lines[3]?["old"] as? [String: Any])?["note"] is NSNull)
        #expect((lines[3]?["new"] as? [String: Any])?["note"] as? String == "new")
        #expect(lines.map { $0?["fromSectionName"] as? String } == ["A", nil, "B", "A"])
        #expect(lines.map { $0?["toSectionName"] as? String } == [nil, "B", "C", "A"])
    }

    /// A changed row has the names of its old and new sections, even if sections are inserted, deleted or moved.
    @Test(arguments: 0..<4 as Range<UInt64>) func changedRowsShowTheirOldAndNewSections(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed &+ 40)
        func rows() -> [Int: String] {
            var rows: [Int: String] = [:]
            for code in 1...40 where Int.random(in: 0..<4, using: &random) > 0 {
                rows[code] = ["A", "B", "C", "D", "", nil].randomElement(using: &random)!.map { "h\($0)" } ?? ""
            }
            return rows
        }
        func write(_ rows: [Int: String]) throws {
            let lines = rows.map { "\($0.key),\($0.value),\(Int.random(in: 0..<9, using: &random)),\n" }
            try importRows(lines.joined(), "--replace", "--replace-limit", "100")
        }
        var old = rows()
        try write(old)
        _ = try changes("json")
        for _ in 0..<4 {
            let new = rows()
            try write(new)
            let batch = try #require(try changes("json")["rows"] as? [[String: Any]])
            for row in batch {
                let key = try #require(row["key"] as? Int)
                func name(_ rows: [Int: String]) -> String? { rows[key] == "" ? nil : rows[key] }
                if row["from"] != nil { #expect(row["fromSectionName"] as? String == name(old), "\(row)") }
                if row["to"] != nil { #expect(row["toSectionName"] as? String == name(new), "\(row)") }
            }
            #expect(Set(new.keys).symmetricDifference(old.keys).isSubset(of: batch.compactMap { $0["key"] as? Int }))
            old = new
        }
    }
}
