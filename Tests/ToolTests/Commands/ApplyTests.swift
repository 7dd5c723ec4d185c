import Foundation
import FetchIndexTestSupport
import Testing

/// `apply` with change files, some of which are applied several times.
@Suite struct ApplyTests {
    private let tool: Tool

    init() throws {
        tool = try Tool()
        let file = try tool.file("items.csv", "code,name,size\na,A,1\nb,B,2\n")
        #expect(try tool.run("import", tool.store, file, "--entity", "Item", "--key", "code").status == 0)
    }

    private func apply(_ lines: [String], _ options: String...) throws -> Tool.Result {
        let file = try tool.file("changes.jsonl", lines.map { $0 + "\n" }.joined())
        return try tool.run(["apply", tool.store, file, "--entity", "Item"] + options)
    }

    private func rows() throws -> String {
        try tool.run(
            "fetch", tool.store, "--entity", "Item", "--sort", "code", "--columns", "code,name,size", "--output", "csv"
        ).output
    }

    private func commit() throws -> Int? { try tool.run("info", tool.store, "--output", "json")["commit"] as? Int }

    @Test func anUpsertUpdatesOrInserts() throws {
        let lines = [
            #"{"op":"upsert","key":"a","values":{"size":10}}"#, #"{"op":"upsert","key":"c","values":{"name":"C"}}"#,
            #"{"op":"upsert","key":"b","values":{"name":null}}"#,
        ]
        #expect(try apply(lines).output == "1 transaction: 1 inserted, 2 updated, 0 unchanged, 0 deleted\n")
        #expect(try rows() == "code,name,size\na,A,10\nb,,2\nc,C,\n")
        let before = try commit()
        #expect(try apply(lines).output.contains("0 inserted, 0 updated, 3 unchanged, 0 deleted"))
        #expect(try commit() == before)
        #expect(try apply([#"{"op":"upsert","values":{"name":"x"}}"#]).error.contains(#""upsert" needs a "key""#))
    }

    @Test func applyingAFileAgainMakesNoFurtherChanges() throws {
        let lines = [
            #"{"op":"insert","key":"c","values":{"size":3}}"#, #"{"op":"update","key":"a","values":{"size":7}}"#,
            #"{"op":"delete","key":"b"}"#,
        ]
        let options = ["--ignore-missing", "--ignore-present"]
        let file = try tool.file("changes.jsonl", lines.map { $0 + "\n" }.joined())
        let arguments = ["apply", tool.store, file, "--entity", "Item"]
        #expect(
            try tool.run(arguments + options).output.contains(
                "1 inserted, 1 updated, 0 unchanged, 1 deleted, 0 ignored"))
        let (after, before) = (try rows(), try commit())
        #expect(after == "code,name,size\na,A,7\nc,,3\n")
        #expect(
            try tool.run(arguments + options).output.contains(
                "0 inserted, 0 updated, 1 unchanged, 0 deleted, 2 ignored"))
        #expect(try tool.run(arguments + options + ["--output", "json"])["ignored"] as? Int == 2)
        #expect(try rows() == after && commit() == before)
        #expect(
            try tool.run(arguments).error.contains("line 1: Item.code must be unique, but another object has \"c\""),
            "without the options, apply stops")
        #expect(
            try tool.run(arguments + ["--ignore-present"]).error.contains("line 3: there is no Item with code \"b\""))
        #expect(try rows() == after)
    }

    @Test func anUpsertNeedsAUniqueAttribute() throws {
        let file = try tool.file("plain.csv", "name\nx\n")
        #expect(try tool.run("import", tool.store, file, "--entity", "Plain").status == 0)
        let changes = try tool.file("plain.jsonl", "{\"op\":\"upsert\",\"key\":1,\"values\":{\"name\":\"y\"}}\n")
        let result = try tool.run("apply", tool.store, changes, "--entity", "Plain")
        #expect(
            result.status == 1
                && result.error.contains("line 1: \"upsert\" needs a unique attribute, but Plain has none"))
        let missing = try tool.file("missing.jsonl", "{\"op\":\"delete\",\"key\":99}\n")
        #expect(try tool.run("apply", tool.store, missing, "--entity", "Plain", "--ignore-missing").status == 0)
    }

    /// If "values" could contradict "key", a second run wouldn't find the object that the first run inserted. It would
    /// insert another object, or fail.
    @Test func valuesThatContradictTheKeyAreReportedAsABadRow() throws {
        let before = try rows()
        for (line, said) in [
            (#"{"op":"upsert","key":"c","values":{"code":"z"}}"#, #"code "z""#),
            (#"{"op":"upsert","key":"c","values":{"code":null}}"#, "code null"),
            (#"{"op":"upsert","key":"a","values":{"code":"z"}}"#, #"code "z""#),
            (#"{"op":"insert","key":"c","values":{"code":null}}"#, "code null"),
        ] {
            let key = line.contains(#""key":"a""#) ? "a" : "c"
            let result = try apply([line])
            #expect(
                result.status == 1
                    && result.error.contains(#"line 1: "key" is "\#(key)", but "values" say \#(said)"#),
                "\(line): \(result.error)")
        }
        #expect(try rows() == before)
        #expect(try apply([#"{"op":"upsert","key":"c","values":{"code":"c"}}"#]).output.contains("1 inserted"))
        #expect(
            try apply([#"{"op":"update","key":"c","values":{"code":"d"}}"#]).output.contains("1 updated"),
            "an update may give an object another key")
    }

    /// A file may quote a number in "key" and not in "values", but then must do so in all lines.
    @Test func keyAndValuesMayQuoteANumberDifferently() throws {
        let file = try tool.file("n.csv", "code,v\n5,1\n")
        #expect(try tool.run("import", tool.store, file, "--entity", "N", "--key", "code").status == 0)
        let line = #"{"op":"upsert","key":"5","values":{"code":5,"v":3}}"#
        func apply(_ other: String) throws -> Tool.Result {
            try tool.run("apply", tool.store, tool.file("c.jsonl", line + "\n" + other + "\n"), "--entity", "N")
        }
        let result = try apply(#"{"op":"insert","key":"6","values":{"code":6,"v":4}}"#)
        #expect(result.output.contains("1 inserted, 1 updated"), "\(result.output)\(result.error)")
        for other in [#"{"op":"delete","key":5}"#, #"{"op":"insert","values":{"code":"7"}}"#] {
            #expect(try apply(other).error.contains("line 2: "), "\(other)")
        }
    }

    @Test(arguments: [[], ["--cache", "c", "--sort", "code"]])
    func severalUpdatesOfAnObjectCountAsOneUpdateOrNone(options: [String]) throws {
        let lines = [
            #"{"op":"update","key":"a","values":{"size":5}}"#, #"{"op":"upsert","key":"b","values":{"name":"X"}}"#,
            #"{"op":"update","key":"a","values":{"name":"Y"}}"#, #"{"op":"update","key":"a","values":{"size":6}}"#,
            #"{"op":"update","key":"b","values":{"code":"z"}}"#, #"{"op":"update","key":"z","values":{"code":"b"}}"#,
        ]
        let file = try tool.file("changes.jsonl", lines.map { $0 + "\n" }.joined())
        let arguments = ["apply", tool.store, file, "--entity", "Item"] + options
        #expect(try tool.run(arguments).output.contains("0 inserted, 2 updated, 4 unchanged"))
        let (after, before) = (try rows(), try commit())
        #expect(after == "code,name,size\na,Y,6\nb,X,2\n")
        let again = try tool.run(arguments)
        #expect(again.output.contains("0 inserted, 0 updated, 6 unchanged"), "\(again.output)\(again.error)")
        #expect(try rows() == after && commit() == before)
        // If the transaction has another change as well, updates that cancel each other still count as unchanged.
        let more = #"{"op":"delete","key":"b"}"#
        let longer = try tool.file("longer.jsonl", (lines + [more]).map { $0 + "\n" }.joined())
        let result = try tool.run(["apply", tool.store, longer, "--entity", "Item"])
        #expect(result.output.contains("1 updated, 5 unchanged, 1 deleted"), "\(result.output)")
        #expect(try commit() == before.map { $0 + 1 })
    }

    @Test func aKeyOfAnInsertionNeedsAUniqueAttribute() throws {
        let file = try tool.file("plain.csv", "name\nx\n")
        #expect(try tool.run("import", tool.store, file, "--entity", "Plain").status == 0)
        let changes = try tool.file("plain.jsonl", "{\"op\":\"insert\",\"key\":1,\"values\":{\"name\":\"y\"}}\n")
        let result = try tool.run("apply", tool.store, changes, "--entity", "Plain")
        #expect(
            result.status == 1
                && result.error.contains(
                    "line 1: \"key\" of an insertion needs a unique attribute, but Plain has none; without \"key\""),
            "\(result.error)")
        let plain = try tool.file("more.jsonl", "{\"op\":\"insert\",\"values\":{\"name\":\"y\"}}\n")
        #expect(try tool.run("apply", tool.store, plain, "--entity", "Plain").output.contains("1 inserted"))
    }

    @Test func listsAreStoredAsTextOnRequest() throws {
        let line = #"{"op":"update","key":"a","values":{"name":[1, {"x": null}]}}"#
        #expect(try apply([line]).error.contains("there is a list or an object"))
        #expect(try apply([line], "--lists-as-text").output.contains("1 updated"))
        #expect(try tool.rows("--entity", "Item", "--sort", "code").first?["name"] as? String == #"[1,{"x":null}]"#)
        #expect(try apply([line], "--lists-as-text").output.contains("1 unchanged"))
        #expect(try apply([#"{"op":"delete","key":[1]}"#], "--lists-as-text").error.contains("a list or an object"))
    }
}
