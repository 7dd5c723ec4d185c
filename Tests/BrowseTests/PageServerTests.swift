import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// The answers of the live page's server.
@Suite struct PageServerTests {
    private let page: BrowsedPage

    init() throws {
        page = try BrowsedPage(items: 2000)
        try page.start()
    }

    @Test func theServersRowsAndSectionsEqualTheOrder() throws {
        let cache = ["cache": "by group"]
        let view = try page.ask("view", cache).json
        #expect(view["count"] as? Int == 2000 && view["sectionCount"] as? Int == 10)
        #expect(view["hasSections"] as? Bool == true)
        let definition = try #require(BrowsedPage.caches["by group"])
        let reader = try PersistentContainer(at: URL(fileURLWithPath: page.store), isReadOnly: true)
        try reader.withOrder(definition, .init(cacheName: "by group")) { order in
            for start in [0, 1, 999, 1990, 1999, 2000, 5000] {
                let answer = try page.ask("rows", ["cache": "by group", "from": "\(start)", "limit": "20"]).json
                let rows = answer["rows"] as? [[String: Any]] ?? []
                var index = 0
                try order.forEachRow(from: start, limit: 20) { row in
                    guard index < rows.count else { throw BrowsedPage.NotStarted(output: "row \(start + index)") }
                    let values = rows[index]["values"] as? [Any] ?? []
                    #expect(values.first as? String == (try row.value(of: "name").description))
                    #expect(rows[index]["section"] as? Int == row.path.section)
                    #expect(rows[index]["sectionRow"] as? Int == row.path.row)
                    let id = rows[index]["id"] as? String ?? ""
                    let place = try page.ask("place", ["cache": "by group", "id": id]).json
                    #expect(place["row"] as? Int == start + index)
                    index += 1
                }
                #expect(rows.count == index, "\(start)")
            }
            let sections = try page.ask("sections", ["cache": "by group", "from": "0", "limit": "100"]).json
            let shown = sections["sections"] as? [[String: Any]] ?? []
            #expect(shown.count == order.sectionCount)
            for (index, section) in shown.enumerated() {
                let expected = try order.section(at: index)
                #expect(section["name"] as? String == (expected.isNull ? nil : expected.name))
                #expect(section["count"] as? Int == expected.count)
                #expect(section["rowsBefore"] as? Int == expected.rowsBefore)
            }
        }
    }

    @Test func aSearchReturnsTheOrdersMatchesInParts() throws {
        var found: [String] = []
        var next = 0
        var pieces = 0
        repeat {
            let answer = try page.ask(
                "search", ["cache": "by group", "where": "size < 20 OR size == 500", "from": "\(next)", "limit": "7"]
            ).json
            let matches = answer["matches"] as? [[String: Any]] ?? []
            #expect(matches.count <= 7)
            found += matches.compactMap { ($0["values"] as? [Any])?.first as? String }
            let following = try #require(answer["next"] as? Int)
            #expect(following > next)
            next = following
            pieces += 1
        } while next < 2000
        var definition = try #require(BrowsedPage.caches["by group"])
        definition.predicate = try FetchPredicate(format: "size < 20 OR size == 500", argumentArray: [])
        var expected: [String] = []
        try page.container.withOrder(definition, .init()) { order in
            try order.forEachRow { expected.append(try $0.value(of: "name").description) }
        }
        #expect(found == expected && expected.count == 42 && pieces >= 6)
    }

    @Test func wrongPredicatesAndCachesAreReportedWithAReason() throws {
        func error(_ path: String, _ values: [String: String]) throws -> String {
            try page.ask(path, values).json["error"] as? String ?? ""
        }
        let search = ["cache": "by group", "from": "0", "limit": "5"]
        #expect(
            try error("search", search.merging(["where": "size <"]) { $1 })
                == "the predicate has the end at position 7, where an attribute or a value was expected\n"
                + "    size <\n          ^")
        #expect(try error("search", search.merging(["where": "weight < 3"]) { $1 }).contains("weight"))
        #expect(try error("search", search.merging(["where": "name < 3"]) { $1 }).isEmpty == false)
        #expect(try error("view", ["cache": "none"]) == "there is no cache \"none\" in the store")
        #expect(try page.ask("card", ["cache": "none"]).body.contains("there is no cache &quot;none&quot;"))
        #expect(try page.ask("rows", ["cache": "by group"]).status == 400)
        #expect(try error("rows", ["cache": "by group", "from": "x", "limit": "1"]).contains("number"))
        #expect(try page.ask("rows", ["cache": "by group", "from": "-5", "limit": "3"]).json["rows"] != nil)
        #expect(try page.ask("rows", ["cache": "by group", "from": "0", "limit": "-3"]).json["rows"] != nil)
    }

    /// Listens for events of a cache whose rows are shown, runs the body, and waits until all texts have arrived.
    private func events(until texts: String..., after body: () throws -> Void) throws -> String {
        var isDone = false
        var all = ""
        var failure: (any Error)?
        try page.client.exchange(
            "GET \(page.root)events?cache=by%20group HTTP/1.1\r\nHost: 127.0.0.1:\(page.port)\r\n\r\n"
        ) { bytes in
            all = String(decoding: bytes, as: UTF8.self)
            if !isDone, all.contains("event: caches") {
                isDone = true
                do {
                    _ = try page.ask("view", ["cache": "by group"])
                    try body()
                } catch { failure = error }
            }
            return failure == nil && !texts.allSatisfy(all.contains)
        }
        if let failure { throw failure }
        for text in texts { #expect(all.contains(text)) }
        return all
    }

    @Test func eventsReportChangedRowsAndCaches() throws {
        let all = try events(until: "3 inserted", "3 changes behind", "event: store") { try page.insert(2000..<2003) }
        #expect(all.contains("event: rows") && all.contains("\"count\":2003"))
    }

    /// The lock file isn't compared. The statistics file is: it shows that the server doesn't record its openings.
    @Test func theServerLeavesTheFilesOfTheStoreUnchanged() throws {
        try page.insert(2000..<2500)
        func bytes() throws -> [String: Data] {
            var files: [String: Data] = [:]
            for name in try FileManager.default.contentsOfDirectory(atPath: page.store) where name != "lock.mdb" {
                files[name] = try Data(contentsOf: URL(fileURLWithPath: page.store + "/" + name))
            }
            return files
        }
        let before = try bytes()
        #expect(before.keys.contains("statistics"))
        for name in BrowsedPage.caches.keys {
            #expect(try page.ask("view", ["cache": name]).json["count"] as? Int == 2500)
            #expect(try page.ask("rows", ["cache": name, "from": "2400", "limit": "50"]).json["rows"] != nil)
            #expect(try page.ask("card", ["cache": name]).body.contains("500 changes behind"))
        }
        _ = try page.ask("store")
        #expect(try bytes() == before)
    }

    @Test func aReplacedCacheIsShownWithItsNewRequest() throws {
        func names() throws -> [String] {
            let answer = try page.ask("rows", ["cache": "by group", "from": "0", "limit": "3"]).json
            return (answer["rows"] as? [[String: Any]] ?? []).compactMap { ($0["values"] as? [Any])?.first as? String }
        }
        let old = try names()
        let other = OrderDefinition(entity: "Item", sortKeys: [SortKey("name", .descending)])
        try page.container.withOrder(other, .init(cacheName: "by group")) { _ in }
        #expect(try page.ask("view", ["cache": "by group"]).json["hasSections"] as? Bool == false)
        #expect(try names() == ["item 999", "item 998", "item 997"] && old.count == 3)
    }

    @Test func aMovedOrDamagedStoreIsReported() throws {
        func error(_ path: String) throws -> String {
            try page.ask(path, ["cache": "by group"]).json["error"] as? String ?? ""
        }
        _ = try page.ask("view", ["cache": "by group"])
        try FileManager.default.moveItem(atPath: page.store, toPath: page.store + ".away")
        var isTold = false
        for _ in 0..<100 where !isTold {
            isTold = try error("store").contains("there is no store")
            usleep(100_000)
        }
        #expect(isTold)
        #expect(try error("view").contains("there is no store"))
        try FileManager.default.moveItem(atPath: page.store + ".away", toPath: page.store)
        #expect(try page.ask("view", ["cache": "by group"]).json["count"] as? Int == 2000)
        // Overwrites the middle of every page except the meta pages. The entry of this cache is at the end of its page,
        // and stays intact.
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: page.store + "/data.mdb"))
        let size = try file.seekToEnd()
        for place in stride(from: UInt64(2 * 4096), to: size, by: 4096) {
            try file.seek(toOffset: place + 1000)
            try file.write(contentsOf: Data(repeating: 0xA5, count: 2600))
        }
        try file.close()
        for path in ["rows", "sections", "card"] {
            let answer = try page.ask(path, ["cache": "by group", "from": "0", "limit": "20"])
            #expect(answer.body.contains("damaged") || answer.body.contains("cannot be read"), "\(answer.body)")
        }
        #expect(page.server?.isRunning == true)
    }

    @Test func aRequestGetsTheNewestStateEvenIfNoClientListens() throws {
        for count in 0..<3 {
            #expect(try page.ask("view", ["cache": "by group"]).json["count"] as? Int == 2000 + count)
            try page.insert(3000 + count..<3001 + count)
        }
    }

    /// A request of a second client opens the order again. The first client, which listens, still gets the event.
    @Test func aListenerGetsTheEventOfAReplacedCache() throws {
        _ = try events(until: "\"isReset\":true") {
            let other = OrderDefinition(entity: "Item", sortKeys: [SortKey("name", .descending)])
            try page.container.withOrder(other, .init(cacheName: "by group")) { _ in }
            _ = try page.ask("view", ["cache": "by group"])
        }
    }

    /// The character 界 takes nine characters in the request.
    @Test func theLongestSearchOfThePageIsAnswered() throws {
        let text = "name == '" + String(repeating: "界", count: 1990) + "'"
        #expect(text.count == 2000)
        let answer = try page.ask("search", ["cache": "by group", "where": text, "from": "0", "limit": "5"])
        #expect(answer.json["next"] as? Int ?? 0 > 0)
    }

    @Test func theServerShowsAStoreThatReplacesItsFirstOne() throws {
        _ = try page.ask("view", ["cache": "by group"])
        let other = try BrowsedPage(items: 30)
        try FileManager.default.moveItem(atPath: page.store, toPath: page.store + ".away")
        try FileManager.default.moveItem(atPath: other.store, toPath: page.store)
        var count = 0
        for _ in 0..<100 where count != 30 {
            count = try page.ask("view", ["cache": "by group"]).json["count"] as? Int ?? 0
            usleep(100_000)
        }
        #expect(count == 30)
    }

    @Test func aChangedModelChangesTheColumns() throws {
        func columns() throws -> [String] {
            let view = try page.ask("view", ["cache": "by group"]).json
            return (view["columns"] as? [[String: Any]] ?? []).compactMap { $0["name"] as? String }
        }
        #expect(try columns() == ["name", "group", "size", "made"])
        try page.run([
            "model", "migrate", page.store, "--entity", "Item", "--add", "pages:integer=7", "--rename", "made=born",
        ])
        #expect(try columns() == ["name", "group", "size", "born", "pages"])
        let answer = try page.ask("rows", ["cache": "by group", "from": "5", "limit": "1"]).json
        #expect(((answer["rows"] as? [[String: Any]])?.first?["values"] as? [Any])?.last as? String == "7")
    }

    @Test func sectionsAndValuesOfABooleanAreCalledFalseAndTrue() throws {
        try page.run(["model", "migrate", page.store, "--entity", "Item", "--add", "isNew:boolean=true"])
        try page.run([
            "fetch", page.store, "--entity", "Item", "--section", "isNew", "--sort", "name", "--cache", "by age",
        ])
        let cache = ["cache": "by age", "from": "0", "limit": "1"]
        let sections = try page.ask("sections", cache).json["sections"] as? [[String: Any]] ?? []
        #expect(sections.map { $0["name"] as? String } == ["true"])
        let rows = try page.ask("rows", cache).json["rows"] as? [[String: Any]] ?? []
        #expect(rows.first?["sectionName"] as? String == "true")
        #expect((rows.first?["values"] as? [Any])?.last as? String == "true")
    }

    @Test func thePageIsStillServedAfterItsStoreWasMoved() throws {
        try FileManager.default.moveItem(atPath: page.store, toPath: page.store + ".away")
        for _ in 0..<100 where try page.ask("store").status == 200 && !page.ask("store").body.contains("error") {
            usleep(100_000)
        }
        let answer = try page.ask("")
        #expect(answer.body.hasPrefix("<!doctype html>") && answer.body.contains("page.js"))
    }

    /// Hidden characters are replaced, like control characters.
    @Test func thePageReplacesHiddenCharacters() throws {
        let evil = "evil\u{202E}x\u{2066}y\u{200B}z"
        let writer = try BatchWriter(page.container, entity: "Item", key: "name", author: evil)
        try writer.insert([.string(evil), .string("group \u{200B}"), .integer(-1), .null])
        try writer.commit()
        let definition = OrderDefinition(
            entity: "Item", sortKeys: [SortKey("size")], sectionKey: .attribute("group"))
        try page.container.withOrder(definition, .init(cacheName: evil)) { _ in }
        let values = ["cache": evil, "from": "0", "limit": "5", "where": "size < 0 AND name != '\u{202E}"]
        for path in ["", "store", "card", "view", "rows", "sections", "search"] {
            let body = try page.ask(path, values).body
            let hidden = body.unicodeScalars.filter { ["\u{202E}", "\u{2066}", "\u{200B}"].contains($0) }
            #expect(hidden.isEmpty, "\(path): \(body.prefix(300))")
        }
        #expect(try page.ask("rows", values).body.contains("evil\u{FFFD}x\u{FFFD}y\u{FFFD}z"))
    }

    @Test func thePageTruncatesLongNames() throws {
        let long = String(repeating: "界", count: 30_000)
        let writer = try BatchWriter(page.container, entity: "Item", key: "name", author: "test")
        for number in 0..<20 {
            try writer.insert([.string("long \(number)"), .string("\(number) \(long)"), .integer(0), .null])
        }
        try writer.commit()
        for (name, definition) in BrowsedPage.caches {
            try page.container.withOrder(definition, .init(cacheName: name)) { _ in }
            #expect(try page.ask("card", ["cache": name]).body.utf8.count < 100_000)
            #expect(try page.ask("rows", ["cache": name, "from": "0", "limit": "64"]).body.utf8.count < 200_000)
        }
    }
}
