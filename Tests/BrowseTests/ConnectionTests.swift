import Foundation
import FetchIndexTestSupport
import Testing

/// The live page's server has clients that connect and send nothing, or is given few descriptors.
@Suite struct ConnectionTests {
    private func connect(_ count: Int, to page: BrowsedPage) -> [Int32] {
        // The last connections may be refused.
        (0..<count).compactMap { _ in try? page.client.connected() }
    }

    @Test func idleConnectionsWithoutTheTokenDoNotBlockRequestsWithTheToken() throws {
        let page = try BrowsedPage(items: 10)
        try page.start()
        var answers = 0
        // Meanwhile, a connection with the token listens for events.
        try page.client.exchange("GET \(page.root)events HTTP/1.1\r\nHost: 127.0.0.1:\(page.port)\r\n\r\n") { _ in
            for _ in 0..<3 {
                let idle = connect(600, to: page)
                #expect(idle.count == 600)
                let start = ContinuousClock.now
                if (try? page.ask("page.css").status) == 200 { answers += 1 }
                #expect(ContinuousClock.now - start < .seconds(5))
                for socket in idle { close(socket) }
            }
            return false
        }
        #expect(answers == 3)
        // A connection with the token isn't dropped for other connections: its events still arrive.
        var isOpen = false
        try page.client.exchange("GET \(page.root)events HTTP/1.1\r\nHost: 127.0.0.1:\(page.port)\r\n\r\n") { bytes in
            if !isOpen, !bytes.isEmpty {
                isOpen = true
                for socket in connect(600, to: page) { close(socket) }
                try? page.insert(10..<11)
            }
            return !String(decoding: bytes, as: UTF8.self).contains("event: store")
        }
        #expect(isOpen)
    }

    @Test func aRequestWithoutTheTokenClosesItsConnection() throws {
        let page = try BrowsedPage(items: 10)
        try page.start()
        var answer = ""
        let start = ContinuousClock.now
        try page.client.exchange("GET /x/ HTTP/1.1\r\nHost: 127.0.0.1:\(page.port)\r\n\r\n", seconds: 20) {
            answer = String(decoding: $0, as: UTF8.self)
            return true
        }
        #expect(answer.hasPrefix("HTTP/1.1 404 "))
        #expect(ContinuousClock.now - start < .seconds(10))
    }

    /// At each tried limit of open files that lets the program be loaded, the server serves the page, or reports the
    /// limit at its start. A signal ends a server that serves the page.
    @Test(.disabled(if: isUnderSanitizer), arguments: [3..<16, 16..<29, 29..<42])
    func aServerWorksOrReportsItsFileLimitAtItsStart(limits: Range<Int>) throws {
        let page = try BrowsedPage(items: 10)
        for limit in limits {
            do { try page.start(files: limit) } catch is BrowsedPage.NotStarted {
                let status = page.server?.wait(seconds: 10)
                let text = try String(contentsOfFile: page.errors, encoding: .utf8)
                // If the limit is 4 or less, the system may be unable to load the program's libraries.
                let isLoaded = limit > 4
                #expect(isLoaded ? status == 1 : [1, 127].contains(status), "\(limit): \(text)")
                #expect(!isLoaded || text.contains("its limit of \(limit) (ulimit -n)"), "\(limit): \(text)")
                #expect(text.split(separator: "\n").count == 1 && limit < 40, "\(limit): \(text)")
                continue
            }
            let sockets = connect(100, to: page)
            #expect(sockets.count > 30)
            #expect(try page.ask("").status == 200, "\(limit)")
            #expect(try page.ask("card", ["cache": "by group"]).body.contains("by group"), "\(limit)")
            page.server?.send(limit % 2 == 0 ? SIGTERM : SIGINT)
            #expect(page.server?.wait(seconds: 10) == 0, "\(limit)")
            for socket in sockets { close(socket) }
        }
    }
}
