import Foundation
import FetchIndexTestSupport
import Testing

/// `bookmark`, and `changes --since`.
@Suite struct BookmarkCommandTests {
    let tool: Tool

    init() throws {
        tool = try Tool()
        let rows = (0..<20).map { "\($0),\($0 % 3),\($0)\n" }
        let file = try tool.file("rows.csv", "code,kind,size\n" + rows.joined())
        #expect(try tool.run("import", tool.store, file, "--entity", "Item", "--key", "code").status == 0)
        #expect(try tool.run("fetch", tool.store, "--sort", "size", "--section", "kind", "--cache", "c").status == 0)
    }

    private func put(_ code: Int, _ size: Int) throws {
        let file = try tool.file(
            "changes.jsonl", #"{"op":"update","key":\#(code),"values":{"size":\#(size)}}"# + "\n")
        #expect(try tool.run("apply", tool.store, file, "--entity", "Item", "--key", "code").status == 0)
    }

    /// Prints the changes of the cache's order, with further arguments. Returns the keys of the changed rows.
    private func changed(_ arguments: String..., status: Int32 = 0) throws -> [String] {
        let result = try tool.run(["changes", tool.store, "--cache", "c", "--output", "json"] + arguments)
        #expect(result.status == status, "\(result.error)")
        let rows = try #require(result["rows"] as? [[String: Any]])
        return rows.compactMap { $0["key"] as? Int }.map(String.init)
    }

    @Test func consumersReadChangesIndependently() throws {
        #expect(try tool.run("bookmark", "list", tool.store).output == "the store has no bookmarks\n")
        for name in ["mail", "index"] {
            let added = try tool.run("bookmark", "add", tool.store, name)
            #expect(added.output.hasPrefix("\(name) is at commit 1, set 20"), "\(added.error)")
        }
        try put(3, 100)
        #expect(try changed("--since", "mail") == ["3"])
        // Without --advance, the bookmark stays where it is.
        #expect(try changed("--since", "mail", "--advance") == ["3"])
        #expect(try changed("--since", "mail", "--advance") == [])
        try put(4, 101)
        // The reader without a bookmark has its own position, the cache's commit.
        #expect(try changed() == ["3", "4"])
        #expect(try changed() == [])
        #expect(try changed("--since", "mail") == ["4"])
        #expect(try changed("--since", "index") == ["3", "4"])
        #expect(try changed("--since", "1") == ["3", "4"])
        #expect(try changed("--since", "2020-01-01T00:00:00Z").count == 20)
        let listed = try tool.run("bookmark", "list", tool.store, "--output", "json")
        let bookmarks = try #require(listed.json as? [[String: Any]])
        #expect(bookmarks.map { $0["name"] as? String } == ["index", "mail"])
        #expect(bookmarks.map { $0["commit"] as? Int } == [1, 2])
        #expect(bookmarks.allSatisfy { $0["isReachable"] as? Bool == true })
        let information = try tool.run("info", tool.store)
        #expect(information.output.contains("bookmark mail at commit 2, set 20"))
        let pinned = bookmarks.compactMap { $0["pinnedBytes"] as? Int }
        #expect(pinned.count == 2 && pinned[0] > pinned[1] && pinned[1] > 0, "\(pinned)")
        let caches = try tool.run("cache", "list", tool.store).output
        #expect(
            caches.contains("\nbookmark mail at commit 2, set 20") && caches.contains(" B of the log\n"), "\(caches)")
        let metrics = try tool.run("info", tool.store, "--output", "prometheus").output
        #expect(metrics.contains("bookmark=\"index\"} \(pinned[0])\n"), "\(metrics)")
        #expect(try tool.run("report", tool.store).output.contains("<dt>bookmark mail</dt><dd>commit 2, keeps"))
        #expect(try tool.run("bookmark", "delete", tool.store, "mail").output == "deleted mail\n")
    }

    @Test func changesEndAtAnEarlierPoint() throws {
        try put(3, 100)
        try put(4, 101)
        try put(3, 102)
        #expect(try changed("--since", "1", "--until", "2") == ["3"])
        #expect(try changed("--since", "2", "--until", "3") == ["4"])
        #expect(try changed("--since", "2", "--until", "2", "--if-changed", status: 3) == [])
        let lines = try tool.run(
            "changes", tool.store, "--cache", "c", "--since", "1", "--until", "3", "--output", "jsonl")
        // The values at the second point, not the current ones.
        #expect(
            lines.output.contains(
                #""key":3,"kind":"move","new":{"code":3,"kind":0,"size":100},"old":{"code":3,"kind":0,"size":3}"#))
        #expect(try tool.run("bookmark", "add", tool.store, "mail", "--at", "1").status == 0)
        #expect(try changed("--since", "mail", "--until", "2", "--advance") == ["3"])
        #expect(try changed("--since", "mail", "--until", "3", "--advance") == ["4"])
        let before = try tool.run("changes", tool.store, "--cache", "c", "--since", "3", "--until", "2")
        #expect(before.status == 1)
        #expect(
            before.error.hasSuffix("the point of --until, commit 2, is before that of --since, commit 3\n"),
            "\(before.error)")
        let late = try tool.run("changes", tool.store, "--cache", "c", "--since", "3", "--until", "9")
        #expect(late.error.hasSuffix("there is no commit 9 yet; the newest one is 4\n"), "\(late.error)")
        #expect(try tool.run("changes", tool.store, "--cache", "c", "--until", "2").status == 2)
    }

    @Test func changesOfAnEntityNeedNoCache() throws {
        func objects(_ arguments: String...) throws -> Tool.Result {
            try tool.run(["changes", tool.store, "--entity", "Item"] + arguments)
        }
        try put(3, 100)
        try put(4, 4)
        #expect(try objects("--since", "1").output == "update #4  3  size: 3 → 100\n")
        #expect(
            try objects("--since", "1", "--output", "jsonl").output
                == #"{"entity":"Item","id":4,"key":3,"kind":"update","new":{"code":3,"kind":0,"size":100},"old":{"code":3,"kind":0,"size":3}}"#
                + "\n")
        let csv = try objects("--since", "1", "--output", "csv").output
        #expect(csv.hasPrefix("kind,id,key,entity,old,new,related\nupdate,4,3,Item,"), "\(csv)")
        let json = try objects("--since", "1", "--output", "json")
        #expect(json["since"] as? Int == 1 && json["until"] as? Int == 2 && (json["rows"] as? [Any])?.count == 1)
        #expect(try objects("--since", "2", "--if-changed").status == 3)
        #expect(try objects().status == 2)
        #expect(try objects("--since", "1", "--sort", "size").status == 2)
    }

    @Test func aSummaryCountsRowsBySection() throws {
        try put(3, 100)
        let text = try tool.run("changes", tool.store, "--cache", "c", "--since", "1", "--summary").output
        #expect(text.hasPrefix("c:\n20 rows: 1 moved\n"), "\(text)")
        let json = try tool.run(
            "changes", tool.store, "--cache", "c", "--since", "1", "--summary", "--output", "json"
        ).output
        #expect(
            json.hasPrefix(
                #"{"cache":"c","summary":{"deleted":0,"inserted":0,"moved":1,"rowsAfter":20,"rowsBefore":20,"sections":[{"arrived":0,"#
            ), "\(json)")
    }

    @Test func aScriptCanSkipWhatDependsOnChanges() throws {
        #expect(try tool.run("bookmark", "add", tool.store, "mail").status == 0)
        #expect(try changed("--since", "mail", "--if-changed", status: 3) == [])
        #expect(try changed("--if-changed", status: 3) == [])
        try put(5, 7)
        #expect(try changed("--since", "mail", "--if-changed") == ["5"])
        #expect(try changed("--if-changed") == ["5"])
        #expect(try changed("--if-changed", status: 3) == [])
    }

    /// A migration rewrites records, and the log lacks that. So the change since an earlier point is unknown.
    @Test func aMigrationMakesEarlierChangesUnknown() throws {
        #expect(try tool.run("bookmark", "add", tool.store, "mail").status == 0)
        try put(3, 100)
        #expect(try tool.run("model", "migrate", tool.store, "--change", "size:string").status == 0)
        #expect(try tool.run("fetch", tool.store, "--sort", "code", "--cache", "d").status == 0)
        func since(_ arguments: String...) throws -> Tool.Result {
            try tool.run(["changes", tool.store, "--cache", "d", "--output", "json", "--since", "mail"] + arguments)
        }
        let unknown = try since("--advance")
        #expect(unknown.output.contains(#""kind":"rebuilt""#) && unknown.output.contains(#""reason":"modelChanged""#))
        #expect(unknown.status == 0, "\(unknown.error)")
        // The bookmark is after the migration now.
        #expect(try since().output.contains(#""rows":[]"#))
    }

    @Test func theCacheStaysAsItIs() throws {
        try put(6, 200)
        let before = try tool.run("cache", "show", tool.store, "c", "--output", "json").output
        #expect(try changed("--since", "1") == ["6"])
        #expect(try tool.run("cache", "show", tool.store, "c", "--output", "json").output == before)
    }

    @Test func wrongPointsAreOneSentence() throws {
        func error(_ arguments: String...) throws -> (Int32, String) {
            let result = try tool.run(arguments)
            return (result.status, result.error)
        }
        #expect(
            try error("changes", tool.store, "--cache", "c", "--since", "nobody") == (
                2, "fetchindex: there is no bookmark \"nobody\" in the store\n"
            ))
        #expect(
            try error("changes", tool.store, "--cache", "c", "--since", "99") == (
                1,
                "fetchindex: there is no commit 99 yet; the newest one is 1\n"
            ))
        #expect(try error("bookmark", "add", tool.store, "7up").0 == 2)
        #expect(try error("bookmark", "add", tool.store, "later", "--at", "99").0 == 1)
        #expect(try error("changes", tool.store, "--cache", "c", "--since", "1", "--advance").0 == 2)
        #expect(try error("changes", tool.store, "--cache", "c", "--since", "2026-13-77").0 == 2)
        #expect(try error("bookmark", "delete", tool.store, "nobody").0 == 2)
    }
}
