import FetchIndex
import Foundation
import TestSupport
import Testing

/// What the live page's server answers, and what it does not.
@Suite struct PageServerTests {
    private let page: BrowsedPage

    init() throws {
        page = try BrowsedPage(items: 2000)
        try page.start()
    }

    @Test func onlyRequestsForItsAddressWithTheTokenGetAnything() throws {
        let token = page.root
        #expect(try page.client.get(token).status == 200)
        #expect(try page.client.get(token, host: "localhost:\(page.port)").status == 200)
        let wrong = String(token.dropLast(2)) + (token.hasSuffix("0/") ? "1/" : "0/")
        for target in [
            "/", "/page.js", wrong, "\(wrong)page.js", "\(token)../page.js", "\(token)..%2Fpage.js", "/x/..\(token)",
            "/.\(token)", "/\(token)", "\(token)%2e%2e/", "\(token)page.js/", "\(token)nothing",
            String(token.dropLast()),
            "\(token.uppercased())x", "\(token)../../../../../../etc/passwd",
        ] {
            let response = try page.client.get(target)
            #expect(response.status == 404 && response.body.isEmpty, "\(target)")
        }
        for host in ["example.org", "example.org:\(page.port)", "127.0.0.1", "127.0.0.1:1", "[::1]:\(page.port)", ""] {
            let response = try page.client.get(token, host: host)
            #expect(response.status == 404 && response.body.isEmpty, "\(host)")
        }
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "HEAD"] {
            #expect(try page.client.get(token, method: method).status == 404, "\(method)")
        }
    }

    @Test func requestsThatAreNoHTTPGetNothing() throws {
        let host = "Host: 127.0.0.1:\(page.port)\r\n"
        let first = "GET \(page.root) HTTP/1.1\r\n"
        for request in [
            "\r\n\r\n", "GET\r\n\r\n", "GET \(page.root)\r\n\(host)\r\n", "\(first)\r\n",
            "\(first)\(host)\(host)\r\n", "\(first)Host: example.org\r\n\(host)\r\n",
            "\(first)\(host) folded: 1\r\n\r\n",
            "\(first)\(host)no colon\r\n\r\n", "\(first)\(host): x\r\n\r\n",
            "\(first)\(host)Content-Length: -1\r\n\r\n",
            "\(first)\(host)Content-Length: 5\r\n\r\nhello",
            "\(first)\(host)Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "GET http://127.0.0.1:\(page.port)\(page.root) HTTP/1.1\r\n\(host)\r\n", "GET  / HTTP/1.1\r\n\(host)\r\n",
            "GET \(page.root) HTTP/2\r\n\(host)\r\n", "\u{16}\u{3}\u{1}\u{2}\r\n\r\n", "\0\0\0\r\n\r\n",
        ] {
            var answer = ""
            try page.client.exchange(request, seconds: 5) {
                answer = String(decoding: $0, as: UTF8.self)
                return true
            }
            #expect(answer.hasPrefix("HTTP/1.1 400 ") && answer.hasSuffix("\r\n\r\n"), "\(request) \(answer)")
        }
        #expect(try page.ask("").status == 200)
        #expect(page.server?.isRunning == true)
    }

    /// Lines and heads without end cost nothing: the server does not read on.
    @Test func whatIsTooLongIsNotRead() throws {
        let host = "Host: 127.0.0.1:\(page.port)\r\n"
        for request in [
            "GET /" + String(repeating: "a", count: 300_000), String(repeating: "x", count: 5_000_000),
            "GET / HTTP/1.1\r\n\(host)a: " + String(repeating: "b", count: 300_000),
            "GET / HTTP/1.1\r\n\(host)" + String(repeating: "a: b\r\n", count: 50_000),
        ] {
            var answer = ""
            // The server may close the connection while the rest is being sent.
            try? page.client.exchange(request, seconds: 5) {
                answer = String(decoding: $0, as: UTF8.self)
                return false
            }
            #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 431 "), "\(answer)")
            #expect(try page.client.get(page.root + "page.css").status == 200)
        }
    }

    @Test func requestsMayFollowEachOtherAndComeInPieces() throws {
        let request = "GET \(page.root)page.css HTTP/1.1\r\nHost: localhost:\(page.port)\r\n\r\n"
        let last = request.replacingOccurrences(of: "\r\n\r\n", with: "\r\nConnection: close\r\n\r\n")
        var answers = ""
        try page.client.exchange(request + request + last, seconds: 5) {
            answers = String(decoding: $0, as: UTF8.self)
            return true
        }
        #expect(answers.components(separatedBy: "HTTP/1.1 200 OK").count == 4)
        let socket = try page.client.connected(seconds: 5)
        defer { close(socket) }
        for byte in last.utf8 {
            var byte = byte
            #expect(write(socket, &byte, 1) == 1)
            usleep(100)
        }
        var piece = [UInt8](repeating: 0, count: 15)
        #expect(read(socket, &piece, 15) == 15 && String(decoding: piece, as: UTF8.self) == "HTTP/1.1 200 OK")
    }

    @Test func answersForbidOtherSourcesAndCaches() throws {
        let head = try page.ask("").head
        #expect(head.contains("default-src 'none'") && head.contains("script-src 'self'"))
        #expect(head.contains("Cache-Control: no-store") && head.contains("X-Content-Type-Options: nosniff"))
        #expect(head.contains("Referrer-Policy: no-referrer"))
    }

    @Test func rowsAndSectionsAreThoseOfTheOrder() throws {
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

    @Test func aSearchGoesThroughTheOrderPieceByPiece() throws {
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

    @Test func errorsAreSentencesWithTheirPlace() throws {
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

    @Test func eventsTellCachesAndRowsThatChange() throws {
        var stage = 0
        var all = ""
        try page.client.exchange(
            "GET \(page.root)events?cache=by%20group HTTP/1.1\r\nHost: 127.0.0.1:\(page.port)\r\n\r\n"
        ) { bytes in
            all = String(decoding: bytes, as: UTF8.self)
            if stage == 0, all.contains("event: caches"), (try? page.ask("view", ["cache": "by group"])) != nil {
                stage = 1
                try? page.insert(2000..<2003)
            }
            return !["3 inserted", "3 changes behind", "event: store"].allSatisfy(all.contains)
        }
        #expect(all.contains("event: rows") && all.contains("\"count\":2003") && all.contains("event: store"))
    }

    /// The openings that it makes are not remembered either.
    @Test func nothingInTheStoreChanges() throws {
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

    @Test func aCacheThatGetsAnotherRequestIsShownWithIt() throws {
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

    @Test func aStoreThatIsMovedOrDamagedSaysSo() throws {
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
        // Every page but those with which LMDB begins.
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: page.store + "/data.mdb"))
        let size = try file.seekToEnd()
        for place in stride(from: UInt64(2 * 4096), to: size, by: 4096) {
            try file.seek(toOffset: place + 1000)
            try file.write(contentsOf: Data(repeating: 0xA5, count: 2000))
        }
        try file.close()
        for path in ["rows", "sections", "card"] {
            let answer = try page.ask(path, ["cache": "by group", "from": "0", "limit": "20"])
            #expect(answer.body.contains("damaged") || answer.body.contains("cannot be read"), "\(answer.body)")
        }
        #expect(page.server?.isRunning == true)
    }

    @Test func anInterruptEndsItWithoutError() throws {
        page.server?.interrupt()
        #expect(page.server?.wait() == 0)
    }

    @Test func askingAgainShowsWhatIsThereNowAlsoWithoutListening() throws {
        for count in 0..<3 {
            #expect(try page.ask("view", ["cache": "by group"]).json["count"] as? Int == 2000 + count)
            try page.insert(3000 + count..<3001 + count)
        }
    }

    /// The first one is told, though the second one's question has opened the order anew.
    @Test func whoListensIsToldOfAnotherRequestThoughSomebodyElseAsksFirst() throws {
        var stage = 0
        var all = ""
        try page.client.exchange(
            "GET \(page.root)events?cache=by%20group HTTP/1.1\r\nHost: 127.0.0.1:\(page.port)\r\n\r\n"
        ) { bytes in
            all = String(decoding: bytes, as: UTF8.self)
            if stage == 0, all.contains("event: caches"), (try? page.ask("view", ["cache": "by group"])) != nil {
                stage = 1
                let other = OrderDefinition(entity: "Item", sortKeys: [SortKey("name", .descending)])
                try? page.container.withOrder(other, .init(cacheName: "by group")) { _ in }
                _ = try? page.ask("view", ["cache": "by group"])
            }
            return !all.contains("\"isReset\":true")
        }
        #expect(all.contains("\"isReset\":true"))
    }

    @Test func anotherStoreInItsPlaceIsShown() throws {
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

    @Test func aPortThatIsInUseIsToldAtOnce() throws {
        let start = Date()
        let (status, sentence) = try page.status(of: ["browse", page.store, "--port", "\(page.port)"])
        #expect(status == 1)
        #expect(
            sentence
                == "fetchindex-browse: port \(page.port) of 127.0.0.1 cannot be used: Address already in use; "
                + "--port takes another, or 0 for a free one\n")
        // Not only after a limit of time.
        #expect(Date().timeIntervalSince(start) < 4)
    }

    @Test(arguments: [["browse"], ["browse", "store", "--port", "70000"], ["browse", "store", "--port", "x"]])
    func wrongUsageIsExitCodeTwo(arguments: [String]) throws {
        #expect(try page.status(of: arguments).code == 2)
    }

    @Test func aFolderWithoutStoreIsAnError() throws {
        let (status, sentence) = try page.status(of: ["browse", page.folder.path + "/none"])
        #expect(status == 1 && sentence.hasPrefix("fetchindex-browse: there is no store at "))
    }

    /// The system gives the server no more connections: it goes on when it does again.
    @Test func moreConnectionsThanItMayHaveDoNotEndIt() throws {
        let page = try BrowsedPage(items: 10)
        try page.start(files: 40)
        var sockets: [Int32] = []
        // The last ones may find nobody.
        for _ in 0..<100 { if let socket = try? page.client.connected() { sockets.append(socket) } }
        #expect(sockets.count > 30)
        usleep(300_000)
        for socket in sockets { close(socket) }
        var status = 0
        for _ in 0..<100 where status != 200 {
            status = (try? page.ask("").status) ?? 0
            usleep(100_000)
        }
        #expect(status == 200)
        #expect(page.server?.isRunning == true)
    }

    @Test func aChangeOfTheModelChangesTheColumns() throws {
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

    @Test func thePageIsThereAlsoWithoutStore() throws {
        try FileManager.default.moveItem(atPath: page.store, toPath: page.store + ".away")
        for _ in 0..<100 where try page.ask("store").status == 200 && !page.ask("store").body.contains("error") {
            usleep(100_000)
        }
        let answer = try page.ask("")
        #expect(answer.body.hasPrefix("<!doctype html>") && answer.body.contains("page.js"))
    }

    @Test func longNamesAreCut() throws {
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
