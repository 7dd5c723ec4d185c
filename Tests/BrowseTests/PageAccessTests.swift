import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// The live page's server gives its page only to requests with its token, reports errors at its start, and ends after
/// an interrupt.
@Suite struct PageAccessTests {
    private let page: BrowsedPage

    init() throws {
        page = try BrowsedPage(items: 2000)
        try page.start()
    }

    @Test func onlyRequestsWithTheTokenAndTheServersAddressGetThePage() throws {
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

    @Test func malformedRequestsAreAnsweredWithStatus400() throws {
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

    @Test func tooLongRequestsAreRefusedAndTheServerGoesOn() throws {
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

    @Test func aConnectionAcceptsSeveralRequestsAndRequestsInPieces() throws {
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

    @Test func thePageForbidsForeignScriptsAndHTTPCaching() throws {
        let head = try page.ask("").head
        #expect(head.contains("default-src 'none'") && head.contains("script-src 'self'"))
        #expect(head.contains("Cache-Control: no-store") && head.contains("X-Content-Type-Options: nosniff"))
        #expect(head.contains("Referrer-Policy: no-referrer"))
    }

    @Test func anInterruptEndsTheServerWithoutError() throws {
        page.server?.interrupt()
        #expect(page.server?.wait() == 0)
    }

    @Test func aPortInUseIsReportedWithoutDelay() throws {
        let start = Date()
        let (status, sentence) = try page.status(of: ["browse", page.store, "--port", "\(page.port)"])
        #expect(status == 1)
        #expect(
            sentence
                == "fetchindex: port \(page.port) of 127.0.0.1 cannot be used: Address already in use; "
                + "choose another one with --port, or 0 for a free one\n")
        // The error must not wait for a time limit.
        #expect(Date().timeIntervalSince(start) < 4)
    }

    @Test(arguments: [["browse"], ["browse", "store", "--port", "70000"], ["browse", "store", "--port", "x"]])
    func wrongUsageExitsWithCodeTwo(arguments: [String]) throws {
        #expect(try page.status(of: arguments).code == 2)
    }

    @Test func aMissingStoreIsAnError() throws {
        let (status, sentence) = try page.status(of: ["browse", page.folder.path + "/none"])
        #expect(status == 1 && sentence.hasPrefix("fetchindex: there is no store at "))
    }
}
