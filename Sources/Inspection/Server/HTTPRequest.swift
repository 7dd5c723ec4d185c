internal import Foundation

/// The head of an HTTP request without a body. https://www.rfc-editor.org/rfc/rfc9112
struct HTTPRequest {
    let method: String
    /// The path as it was sent, without decoding or simplification.
    let path: String
    let query: [String: String]
    let host: String
    /// Whether the client wants the connection to end after the answer.
    let isLast: Bool

    /// Parses a head without its final empty line. Returns nil for a head that the server doesn't accept: for example,
    /// if it is malformed, has no host or several, or announces a body.
    init?(_ head: [UInt8]) {
        guard let text = String(validating: head, as: UTF8.self) else { return nil }
        var lines = text.split(separator: "\r\n", omittingEmptySubsequences: false)[...]
        guard let first = lines.popFirst() else { return nil }
        let words = first.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, words[2] == "HTTP/1.1" || words[2] == "HTTP/1.0", words[1].hasPrefix("/") else {
            return nil
        }
        var host: String?
        var connection = words[2] == "HTTP/1.0" ? "close" : ""
        for line in lines {
            guard let colon = line.firstIndex(of: ":"), colon > line.startIndex, !line.hasPrefix(" "),
                !line.hasPrefix("\t")
            else { return nil }
            let value = line[line.index(after: colon)...].trimmingBlanks.lowercased()
            switch line[..<colon].lowercased() {
            case "host":
                if host != nil { return nil }
                host = value
            case "connection": connection = value
            case "transfer-encoding": return nil
            case "content-length": if value != "0" { return nil }
            default: break
            }
        }
        guard let host else { return nil }
        method = String(words[0])
        self.host = host
        isLast = connection.contains("close")
        let target = words[1].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        path = String(target[0])
        query = Self.query(target.count > 1 ? target[1] : "")
    }

    private static func query(_ text: Substring) -> [String: String] {
        let items = text.split(separator: "&").compactMap { item -> (String, String)? in
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let name = String(parts[0]).removingPercentEncoding,
                let value = String(parts[1]).removingPercentEncoding
            else { return nil }
            return (name, value)
        }
        return Dictionary(items) { first, _ in first }
    }
}

extension Substring {
    fileprivate var trimmingBlanks: Substring {
        let isBlank = { (character: Character) in character == " " || character == "\t" }
        let start = drop(while: isBlank)
        return start.lastIndex { !isBlank($0) }.map { start[...$0] } ?? ""
    }
}

/// An HTTP answer with a body of bytes or a stream of events.
struct HTTPAnswer {
    enum Body {
        case bytes([UInt8])
        case events(AsyncStream<ServerEvent>)
    }

    var status = "200 OK"
    var headers: [(name: String, value: String)] = []
    var body = Body.bytes([])

    static let notFound = HTTPAnswer(status: "404 Not Found")
    static let badRequest = HTTPAnswer(status: "400 Bad Request")
    static let tooLarge = HTTPAnswer(status: "431 Request Header Fields Too Large")
    static let tooManyConnections = HTTPAnswer(status: "503 Service Unavailable")

    /// Returns the head, followed by the body if it consists of bytes. Events have no length: the end of the connection ends them.
    func bytes(isLast: Bool) -> [UInt8] {
        var head = "HTTP/1.1 \(status)\r\n"
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        switch body {
        case .events:
            return Array((head + "Connection: close\r\n\r\n").utf8)
        case .bytes(let bytes):
            head += "Content-Length: \(bytes.count)\r\n" + (isLast ? "Connection: close\r\n\r\n" : "\r\n")
            return Array(head.utf8) + bytes
        }
    }
}
