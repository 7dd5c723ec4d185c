import Foundation
import FetchIndexTestSupport
import Testing

@Suite struct CommandTests {
    let tool: Tool
    let request = ["--entity", "Book", "--section", "publisher", "--sort", "price", "--cache", "by publisher"]

    init() throws {
        tool = try Tool()
        let file = try tool.file(
            "books.csv",
            """
            id,publisher,title,price
            1,早川書房,神の水,1944
            2,早川書房,ロックイン,1555
            3,岩波書店,影との戦い,777
            4,岩波書店,帰還,820
            5,,名前なし,1

            """)
        _ = try tool.run("import", tool.store, file, "--entity", "Book", "--key", "id")
    }

    func fetch(_ more: String...) throws -> Tool.Result {
        try tool.run(["fetch", tool.store, "--output", "json"] + request + more)
    }

    @Test func fetchPrintsOutcomeSectionsAndRows() throws {
        let first = try fetch()
        #expect((first["outcome"] as? [String: Any])?["kind"] as? String == "rebuilt")
        #expect((first["outcome"] as? [String: Any])?["reason"] as? String == "first")
        let second = try fetch()
        #expect((second["outcome"] as? [String: Any])?["kind"] as? String == "hit")
        let sections = second["sections"] as? [[String: Any]] ?? []
        #expect(sections.map { $0["name"] as? String } == [nil, "岩波書店", "早川書房"])
        #expect(sections.map { $0["count"] as? Int } == [1, 2, 2] && sections[1]["indexTitle"] as? String == "岩")
        let rows = second["rows"] as? [[String: Any]] ?? []
        #expect(rows.count == 5 && second["count"] as? Int == 5)
        #expect(rows[1]["section"] as? Int == 1 && rows[1]["row"] as? Int == 0 && rows[1]["id"] as? Int == 3)
        let page = try fetch("--offset", "2", "--limit", "2")["rows"] as? [[String: Any]] ?? []
        #expect(page.map { $0["id"] as? Int } == [4, 2])
        #expect((try fetch("--sections-only")["rows"] as? [Any])?.isEmpty == true)
        let uncached = try tool.run(
            "fetch", tool.store, "--entity", "Book", "--where", "title CONTAINS '影'", "--output", "json")
        #expect(
            (uncached["outcome"] as? [String: Any])?["kind"] as? String == "computed" && uncached["count"] as? Int == 1)
    }

    @Test func aSyntaxErrorIsShownWithItsPosition() throws {
        let result = try tool.run("fetch", tool.store, "--entity", "Book", "--where", "title == '影' AND price ~~ 5")
        #expect(result.status == 2)
        #expect(
            result.error == """
                fetchindex: the predicate has "~" at position 24, where a comparison operator was expected
                    title == '影' AND price ~~ 5
                                            ^

                """)
    }

    @Test func sectionsCanBeIndexTitlesAndWeeks() throws {
        let file = try tool.file("dated.csv", "title,released\nかがみ,2016-05-16\nガラス,2016-05-22\nApple,2016-05-23\n")
        _ = try tool.run("import", tool.store, file, "--entity", "Dated", "--types", "released:date")
        func sections(_ key: String, _ member: String) throws -> [String] {
            let arguments = ["--entity", "Dated", "--section", key, "--cache", key, "--output", "json"]
            let shown = try tool.run(["fetch", tool.store] + arguments)
            let stored = try tool.run("cache", "show", tool.store, key, "--output", "json")
            let names = [shown, stored].map {
                ($0["sections"] as? [[String: Any]] ?? []).map { $0[member] as? String ?? "" }
            }
            #expect(names[0] == names[1], "\(key)")
            return names[0]
        }
        #expect(try sections("indexTitle(title,ja)", "name") == ["か", "A"])
        #expect(try sections("indexTitle(title,cs)", "indexTitle") == ["#", "A"])
        #expect(try sections("week(released)", "name") == ["2016-W20", "2016-W21"])
        #expect(try sections("week(released)", "indexTitle") == ["2", "2"])
        #expect(try sections("week(released,Asia/Tokyo,japanese=sunday)", "name") == ["2016-05-15", "2016-05-22"])
        for (key, sentence) in [
            ("week(released,UTC,lunar)", "\"lunar\" is not a calendar"),
            ("week(released,Mars)", "\"Mars\" is not a time zone"),
            ("quarter(released,UTC,hebrew)", "has no quarters"), ("indexTitle(title,xx)", "ICU knows no locale \"xx\""),
            ("indexTitle(released,ja)", "needs a text"), ("hour(released)", "a section key is KEY"),
        ] {
            let failed = try tool.run("fetch", tool.store, "--entity", "Dated", "--section", key)
            #expect(failed.status == 2, "\(key): \(failed.error)")
            #expect(failed.error.contains(sentence), "\(key): \(failed.error)")
        }
    }

    @Test func readableTablesAreTheDefaultOutput() throws {
        _ = try fetch()
        let table = try tool.run(["fetch", tool.store] + request).output
        #expect(table.hasPrefix("hit, in "))
        #expect(table.contains("岩波書店       2\n"))
        #expect(table.contains("岩波書店    0   3"))
        #expect(table.contains("(no value)"))
        #expect(try tool.run("cache", "list", tool.store).output.contains("by publisher  fresh     5         3"))
        let shown = try tool.run("cache", "show", tool.store, "by publisher").output
        #expect(shown.contains("section    publisher\n") && shown.contains("ordered    first-row\n"))
        #expect(shown.contains("早川書房"))
        #expect(shown.contains("███"))
        #expect(try tool.run("info", tool.store).output.contains("Book: 5 objects"))
    }

    @Test func applyPrintsTheChangeOfEachTransaction() throws {
        _ = try fetch()
        let changes = try tool.file(
            "changes.jsonl",
            """
            {"op":"update","key":"3","values":{"price":900}}
            {"op":"insert","key":"6","values":{"publisher":"文藝春秋","title":"11/22/63","price":5}}

            {"op":"delete","key":"5"}
            {"op":"update","key":"1","values":{"price":1944}}
            """)
        let result = try tool.run(["apply", tool.store, changes, "--output", "json"] + request)
        #expect(result.status == 0)
        let lines = result.output.split(separator: "\n").map { line in
            (try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]) ?? [:]
        }
        #expect(lines.count == 2)
        let outcomes = lines.map { $0["outcome"] as? [String: Any] }
        #expect(outcomes.map { $0?["kind"] as? String } == ["caughtUp", "caughtUp"])
        let batches = lines.map { $0.filter { $0.key != "outcome" } as NSDictionary }
        #expect(
            batches[0] == [
                "sections": [["kind": "insert", "to": 1, "name": "文藝春秋"]],
                "rows": [
                    ["kind": "insert", "id": 6, "key": 6, "to": [1, 0]],
                    ["kind": "move", "id": 3, "key": 3, "from": [1, 0], "to": [2, 1]],
                ],
            ])
        #expect(
            batches[1] == [
                "sections": [["kind": "delete", "from": 0, "name": NSNull()]],
                "rows": [
                    [
                        "kind": "delete", "id": 5, "key": 5, "from": [0, 0],
                        "old": ["id": 5, "publisher": NSNull(), "title": "名前なし", "price": 1],
                    ]
                ],
            ])
    }

    @Test func aBadChangeIsReportedWithItsLineAndDropsItsTransaction() throws {
        let changes = try tool.file(
            "changes.jsonl",
            """
            {"op":"delete","key":"1"}

            {"op":"delete","key":"2"}
            {"op":"update","key":"99","values":{"price":1}}
            """)
        let result = try tool.run("apply", tool.store, changes, "--entity", "Book")
        #expect(result.status == 1)
        #expect(
            result.error
                == "fetchindex: \(changes), line 4: there is no Book with id \"99\"; 1 transaction before it is applied\n"
        )
        #expect(try tool.rows("--entity", "Book").count == 4)
        for (line, reason) in [
            ("nonsense", "it is not a change"), ("{\"op\":\"replace\",\"key\":1}", "\"op\" is \"replace\""),
            ("{\"op\":\"update\",\"key\":\"2\",\"values\":{\"pages\":1}}", "no attribute \"pages\""),
            ("{\"op\":\"update\",\"key\":\"2\",\"values\":{\"price\":\"x\"}}", "is not an integer"),
            ("{\"op\":\"insert\",\"key\":\"2\"}", "must be unique"), ("{\"op\":\"delete\"}", "needs a \"key\""),
            ("{\"op\":\"delete\",\"key\":\"2\",\"value\":{}}", "\"value\" is not op"),
        ] {
            let result = try tool.run("apply", tool.store, try tool.file("bad.jsonl", line), "--entity", "Book")
            #expect(
                result.status == 1,
                "\(result.error)")
            #expect(
                result.error.contains("line 1: "),
                "\(result.error)")
            #expect(
                result.error.contains(reason),
                "\(result.error)")
        }
    }

    @Test func theChangesCommandPrintsTheChangesSinceTheLastFetch() throws {
        _ = try fetch()
        let file = try tool.file("more.csv", "id,publisher,title,price\n3,岩波書店,影との戦い,2\n9,早川書房,新,9000\n")
        _ = try tool.run("import", tool.store, file, "--entity", "Book", "--key", "id")
        let behind = try tool.run("cache", "list", tool.store, "--output", "json").json as? [[String: Any]]
        #expect(behind?.first?["fresh"] as? Bool == false)
        #expect(behind?.first?["changesBehind"] as? Int == 2)
        let result = try tool.run("changes", tool.store, "--cache", "by publisher", "--output", "json")
        #expect((result["outcome"] as? [String: Any])?["kind"] as? String == "caughtUp")
        #expect(
            (result["rows"] as? [[String: Any]])?.map { row in
                row.filter { ["kind", "id", "key", "from", "to"].contains($0.key) } as NSDictionary
            } == [
                ["kind": "insert", "id": 6, "key": 9, "to": [2, 2]],
                ["kind": "update", "id": 3, "key": 3, "from": [1, 0], "to": [1, 0]],
            ])
        #expect(try tool.run("changes", tool.store, "--cache", "by publisher").output.contains("no changes"))
        #expect(try tool.run("changes", tool.store, "--cache", "nope").status == 2)
    }

    /// Rows have keys even if their objects were deleted, and if other commits followed.
    @Test func changesShowTheKeysOfDeletedAndInsertedRows() throws {
        _ = try fetch()
        for (number, line) in [
            #"{"op":"delete","key":"2"}"#, #"{"op":"insert","key":"8","values":{"title":"a\tb","price":1}}"#,
        ].enumerated() {
            let file = try tool.file("changes \(number).jsonl", line + "\n")
            #expect(try tool.run("apply", tool.store, file, "--entity", "Book").status == 0)
        }
        let store = tool.folder.path + "/copy"
        #expect(try tool.run("backup", tool.store, store).status == 0)
        let table = try tool.run("changes", store, "--cache", "by publisher").output
        #expect(table.contains("#2  2\n"))
        #expect(table.contains("#6  8\n"))
        let rows = try tool.run("changes", tool.store, "--cache", "by publisher", "--output", "json")["rows"]
        let deleted = try #require((rows as? [[String: Any]])?.first { $0["kind"] as? String == "delete" })
        #expect(deleted["key"] as? Int == 2)
        #expect((deleted["old"] as? [String: Any])?["title"] as? String == "ロックイン")
    }

    @Test func cacheCommandsVerifyRebuildAndDeleteCaches() throws {
        _ = try fetch()
        #expect(try tool.run("cache", "verify", tool.store).output == "by publisher: sound (fresh)\n")
        #expect(
            try tool.run("cache", "rebuild", tool.store, "by publisher").output.hasPrefix(
                "by publisher: rebuilt (requested)"))
        #expect(try tool.run("cache", "delete", tool.store, "by publisher").status == 0)
        #expect(try tool.run("cache", "delete", tool.store, "by publisher").status == 2)
        #expect(try tool.run("cache", "delete", tool.store).status == 2)
        #expect(try tool.run("cache", "list", tool.store).output == "the store has no caches\n")
        #expect(try tool.run("check", tool.store).output == "the store is whole\n")
    }

    @Test(arguments: [
        (["fetch", "STORE", "--entity", "Book", "--where", "price <"], 2, "position 8"),
        (["fetch", "STORE", "--entity", "Book", "--where", "pages > 1"], 2, "pages"),
        (["fetch", "STORE", "--entity", "Book", "--sort", "pages"], 2, "pages"),
        (["fetch", "STORE", "--entity", "Book", "--section", "week(price"], 2, "section key"),
        (["fetch", "STORE", "--entity", "Shop"], 2, "Shop"),
        (["fetch", "STORE", "--entity", "Book", "--limit=-1"], 2, "negative"), (["dance"], 2, "dance"),
        (["fetch", "/nonexistent", "--entity", "Book"], 1, "there is no store at /nonexistent"),
        (["fetch", "/tmp", "--entity", "Book"], 1, "not a FetchIndex store"),
        (["cache", "show", "STORE", "nope"], 2, "there is no cache \"nope\""),
    ]) func wrongArgumentsAreReportedWithTheirReasonAndStatus(arguments: [String], status: Int, text: String) throws {
        let result = try tool.run(arguments.map { $0 == "STORE" ? tool.store : $0 })
        #expect(result.status == Int32(status), "\(result.error)")
        #expect(result.error.contains(text), "\(result.error)")
        #expect(result.output.isEmpty, "\(result.error)")
    }

    @Test func helpExitsWithZero() throws {
        let help = try tool.run("--help")
        #expect(help.status == 0)
        #expect(help.output.contains("import"))
        #expect(help.error.isEmpty)
    }

    @Test func fetchUsesACachesOwnRequestAndTheChangesCommandRefusesAnother() throws {
        _ = try fetch()
        let plain = try tool.run("fetch", tool.store, "--entity", "Book", "--cache", "by publisher", "--output", "json")
        #expect(
            (plain["outcome"] as? [String: Any])?["kind"] as? String == "hit",
            "without further request options, the cache's own request is fetched")
        let other = try tool.run("changes", tool.store, "--cache", "by publisher", "--section", "title")
        #expect(other.status == 2)
        #expect(other.error.contains("another request"))
        let changes = try tool.file("c.jsonl", "{\"op\":\"delete\",\"key\":\"1\"}")
        #expect(try tool.run("apply", tool.store, changes, "--entity", "Book", "--cache", "nope").status == 2)
    }

    @Test func lostOutputIsAnErrorAndEscapesAreNotPrinted() throws {
        _ = try tool.run(
            "import", tool.store, try tool.file("e.csv", "id,title\nx,\u{1B}[31mred\n"), "--entity", "Book", "--key",
            "id")
        #expect(try !tool.run("fetch", tool.store, "--entity", "Book").output.contains("\u{1B}"))
        let process = tool.process(["fetch", tool.store, "--entity", "Book"])
        process.standardOutput = FileHandle(forWritingAtPath: "/dev/full")
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 1)
    }
}
