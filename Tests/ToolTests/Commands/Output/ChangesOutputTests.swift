import FetchIndexInspection
import FetchIndexTestSupport
import Foundation
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

    /// Names and values of all types, with characters that need escapes. Numbers have the form of Foundation's encoder.
    private func importOddRows(_ store: String) throws {
        let types = "d:double,a10:integer,a2:decimal,B:string,b:boolean,é:date,e\u{301}x:string,_x:data"
        let texts = [
            #"\b\f\u0001\n\t\r/\"\\\u007f\u0085"#, #"a\u200db\u200f\u00ad"#, "👩\u{200D}💻", "\u{E0061}\u{E0062}", "",
            "虐殺器官",
        ]
        let doubles = ["1e100", "1e22", "1e-7", "0.1", "123456789012345680000", "\"inf\"", "\"nan\"", "5", "-2.5"]
        let lines = doubles.enumerated().map { index, double in
            let (text, other) = (texts[index % texts.count], texts[(index + 1) % texts.count])
            return #"{"d":\#(double),"a10":\#(index),"a2":"1.\#(index + 1)","B":"\#(text)","b":\#(index % 2 == 0),"#
                + #""é":"2026-01-0\#(index + 1)","e\u0301x":"\#(other)","_x":"f\#(index)"}"# + "\n"
        }.joined()
        let file = try tool.file("odd.jsonl", lines)
        let result = try tool.run("import", store, file, "--entity", "Row", "--key", "a10", "--types", types)
        #expect(result.status == 0, "\(result.error)")
    }

    /// The document in the form in which Foundation's encoder writes it, with sorted members.
    private func encoded(_ line: Substring) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let document = try JSONDecoder().decode(AnyJSON.self, from: Data(line.utf8))
        return String(decoding: try encoder.encode(document), as: UTF8.self).withControlsEscaped
    }

    @Test func rowsHaveTheFormOfFoundationsEncoder() throws {
        let store = tool.folder.path + "/odd"
        try importOddRows(store)
        #expect(try tool.run("fetch", store, "--sort", "d", "--section", "B", "--cache", "c").status == 0)
        var delta = (0..<4).map { #"{"op":"update","key":\#($0),"values":{"d":\#($0),"B":"\u0008é"}}"# + "\n" }.joined()
        delta += #"{"op":"delete","key":5}"# + "\n"
        #expect(try tool.run("apply", store, try tool.file("d.jsonl", delta)).status == 0)
        let outputs = [
            ["--entity", "Row", "--since", "0"], ["--entity", "Row", "--since", "1"],
            ["--cache", "c", "--since", "0"], ["--cache", "c", "--since", "1"],
        ]
        for arguments in outputs {
            let lines = try tool.run(["changes", store, "--output", "jsonl"] + arguments).output.split(separator: "\n")
            #expect(lines.count >= 5, "\(arguments)")
            for line in lines { #expect(try encoded(line) == line, "\(arguments)") }
            let document = try tool.run(["changes", store, "--output", "json"] + arguments).output.dropLast()
            let rows = try #require(document.firstRange(of: #""rows":["#))
            let end = lines.map(String.init).joined(separator: ",") + "]"
            #expect(document[rows.upperBound...].hasPrefix(end), "\(arguments)")
        }
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

/// A JSON document of any form.
private enum AnyJSON: Codable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case double(Double)
    case text(String)
    case list([AnyJSON])
    case object([String: AnyJSON])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .double(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode([AnyJSON].self) {
            self = .list(value)
        } else {
            self = .object(try container.decode([String: AnyJSON].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .boolean(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .double(let value): try container.encode(value)
        case .text(let value): try container.encode(value)
        case .list(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}
