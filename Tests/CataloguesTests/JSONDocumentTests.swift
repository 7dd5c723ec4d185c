import Foundation
import FetchIndexTestSupport
import Testing

@testable import FetchIndexCatalogues

/// Lists in JSON documents, and members of nested objects as columns.
@Suite struct JSONDocumentTests {
    private func reading(
        _ text: String, path: [String] = [], flattens: Bool = false, longestLine: Int = 1 << 20,
        pieceLength: Int = 1 << 16
    ) throws -> (columns: [String], rows: [[String]], lines: [Int], bad: [String]) {
        var input = CatalogueInput(
            "document", bytes: Array(text.utf8), longestLine: longestLine, pieceLength: pieceLength)
        input.listPath = path
        let source = try JSONLinesSource(input, ToldColumns(flattens: flattens))
        var (rows, lines, bad): ([[String]], [Int], [String]) = ([], [], [])
        try source.forEachRow(
            { row in
                lines.append(row.line)
                rows.append(
                    (0..<row.count).map { row.isAbsent($0) ? "absent" : row.isNull($0) ? "null" : row.text(of: $0) })
            }, bad: { bad.append($0.description) })
        return (source.columns, rows, lines, bad)
    }

    @Test func theListIsFoundByItsPath() throws {
        let text = """
            {"meta": {"items": [{"no": 1}], "data": 5}, "text": "a \\" ] } , [",
             "data": {"other": [], "items": [
                {"a": 1, "b": "x, ] }"},
                {"a": 2}
             ]}, "rest": nonsense
            """
        let found = try reading(text, path: ["data", "items"])
        #expect(found.columns == ["a", "b"])
        #expect(found.rows == [["1", "x, ] }"], ["2", "absent"]])
        #expect(found.lines == [3, 4] && found.bad.isEmpty)
        #expect(try reading(" [ {\"a\":1} ,{\"a\":null}] ").rows == [["1"], ["null"]])
    }

    @Test(
        arguments: [
            ("[]", [], "has no objects with members"), ("{}", ["a"], "lacks the list a"),
            ("{\"a\":5}", ["a"], "has no list"),
            ("5", [], "has no list in line 1"), ("[{\"a\":1}", [], "ends before the end"),
            ("", [], "ends before the end"),
            ("[{\"a\":1},]", [], "lacks an element"), ("[,{\"a\":1}]", [], "lacks an element"),
            ("{\"a\" [1]}", ["a"], "has no colon"), ("{a:[1]}", ["a"], "no member's name"),
            ("[{\"a\":1}}]", [], "a bracket too many"),
            ("{\"b\":[1}", ["a"], "ends before the end"), ("{\"b\":\"", ["a"], "ends before the end"),
        ] as [(String, [String], String)])
    func aDocumentWithoutTheListIsRefused(text: String, path: [String], reason: String) {
        let error = #expect(throws: UnreadableFile.self) { try reading(text, path: path) }
        #expect(error?.description.contains(reason) == true, "\(text): \(error?.description ?? "")")
    }

    @Test func aBadElementIsABadRowAtItsLine() throws {
        let found = try reading("[{\"a\":1},\n{\"a\":},\n\n 7,\n{\"a\":2} {}, {\"a\":3}]")
        #expect(found.rows == [["1"], ["3"]])
        #expect(
            found.bad.map { String($0.prefix(16)) } == ["document, line 2", "document, line 4", "document, line 5"])
        let long = try reading("[{\"a\":\"\(String(repeating: "x", count: 50))\"},{\"a\":\"y\"}]", longestLine: 20)
        #expect(long.rows == [["y"]] && long.bad == ["document, line 1: the element is longer than 20 bytes"])
    }

    @Test(arguments: 1...9) func aDocumentReadInPiecesGivesTheSameRows(pieceLength: Int) throws {
        var generator = SeededGenerator(seed: UInt64(pieceLength))
        for _ in 0..<40 {
            let texts = (0..<Int.random(in: 1...5, using: &generator)).map { _ in
                let alphabet = ["a", "\"", "\\", "[", "]", "{", "}", ",", ":", "\n", "影"]
                return (0..<Int.random(in: 0...6, using: &generator)).map { _ in
                    alphabet.randomElement(using: &generator) ?? ""
                }
                .joined()
            }
            let document: [String: Any] = [
                "a": [1, [2, ["]": "}"]]], "list": texts.map { ["text": $0, "number": 1] }, "z": "\"]",
            ]
            let options: JSONSerialization.WritingOptions = Bool.random(using: &generator) ? .prettyPrinted : []
            let text = String(
                decoding: try JSONSerialization.data(withJSONObject: document, options: options), as: UTF8.self)
            let found = try reading(text, path: ["list"], pieceLength: pieceLength)
            #expect(found.rows == texts.map { ["1", $0] }, "seed \(pieceLength): \(text)")
        }
    }

    @Test func namesOfThePathMayBeWrittenWithEscapes() throws {
        #expect(try reading("{\"\\u0061\\\"\":[{\"b\":1}]}", path: ["a\""]).rows == [["1"]])
        let long = String(repeating: "x", count: 100_000)
        #expect(try reading("{\"\(long)\":1,\"a\":[{\"b\":1}]}", path: ["a"]).rows == [["1"]])
    }

    @Test func aListAloneIsTheWholeDocument() {
        #expect(throws: UnreadableFile.self) { try reading("[{\"a\":1}]\n[{\"a\":2}]") }
        #expect(throws: UnreadableFile.self) { try reading("[{\"a\":1}],") }
    }

    @Test func linesMayEndWithReturns() throws {
        #expect(try reading("[\r{\"a\":1},\r\n{\"a\":2}\n,{\"a\":3}]").lines == [2, 3, 4])
    }

    @Test func nullInPlaceOfAnObjectClearsItsMembers() throws {
        let found = try reading(
            "[{\"a\":{\"b\":1,\"c\":{\"d\":2}}},{\"a\":null},{\"a\":{\"c\":null}},{\"e\":null}]", flattens: true)
        #expect(found.columns == ["a.b", "a.c.d"])
        #expect(found.rows == [["1", "2"], ["null", "null"], ["absent", "null"], ["absent", "absent"]])
    }

    @Test func membersOfNestedObjectsAreColumns() throws {
        let found = try reading(
            "[{\"a\":{\"b\":1,\"c\":{\"d\":\"x\"}},\"e\":null},{\"e\":2,\"a\":{}},{\"a\":{\"b\":3},\"a.b\":4}]",
            flattens: true)
        #expect(found.columns == ["a.b", "a.c.d", "e"])
        #expect(found.rows == [["1", "x", "null"], ["absent", "absent", "2"]])
        #expect(found.bad.count == 1 && found.bad[0].contains("a second member \"a.b\""), "\(found.bad)")
        let unflattened = try reading("[{\"e\":1},{\"a\":{}}]")
        #expect(unflattened.bad.count == 1)
        let deep = String(repeating: "{\"a\":", count: 70) + "1" + String(repeating: "}", count: 70)
        #expect(try reading("[{\"e\":1},\(deep)]", flattens: true).bad.count == 1)
    }
}
