import Foundation

/// Sends HTTP requests to this machine exactly as they are written here. An ordinary client could correct malformed
/// requests.
struct Loopback {
    struct Response {
        let status: Int
        let head: String
        let body: String

        var json: [String: Any] {
            ((try? JSONSerialization.jsonObject(with: Data(body.utf8))) as? [String: Any]) ?? [:]
        }
    }

    struct Failed: Error { let call: String }

    let port: UInt16

    func get(_ target: String, host: String? = nil, method: String = "GET") throws -> Response {
        try send("\(method) \(target) HTTP/1.1\r\nHost: \(host ?? "127.0.0.1:\(port)")\r\nConnection: close\r\n\r\n")
    }

    func post(_ target: String, _ json: [String: Any], method: String = "POST") throws -> Response {
        let body = String(decoding: try JSONSerialization.data(withJSONObject: json), as: UTF8.self)
        return try send(
            "\(method) \(target) HTTP/1.1\r\nHost: localhost:\(port)\r\nContent-Type: application/json\r\n"
                + "Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n" + body)
    }

    private func send(_ request: String) throws -> Response {
        var text = ""
        try exchange(request) { bytes in
            text = String(decoding: bytes, as: UTF8.self)
            return !Self.isWhole(text)
        }
        let parts = text.components(separatedBy: "\r\n\r\n")
        let words = parts[0].split(separator: " ")
        guard words.count > 1, let status = Int(words[1]) else { throw Failed(call: "answer: \(text)") }
        return Response(status: status, head: parts[0], body: parts.dropFirst().joined(separator: "\r\n\r\n"))
    }

    /// Whether an answer with a length has arrived whole. Some servers don't close the connection, although they are
    /// asked to.
    private static func isWhole(_ text: String) -> Bool {
        guard let end = text.range(of: "\r\n\r\n"),
            let line = text[..<end.lowerBound].lowercased().components(separatedBy: "\r\n").first(where: {
                $0.hasPrefix("content-length:")
            }), let length = Int(line.split(separator: ":")[1].trimmingCharacters(in: .whitespaces))
        else { return false }
        return text[end.upperBound...].utf8.count >= length
    }

    /// Returns a connected socket.
    func connected(seconds: Int = 30) throws -> Int32 {
        #if canImport(Glibc)
            let kind = Int32(SOCK_STREAM.rawValue)
        #else
            let kind = SOCK_STREAM
        #endif
        let file = socket(AF_INET, kind, 0)
        guard file >= 0 else { throw Failed(call: "socket") }
        var limit = timeval(tv_sec: seconds, tv_usec: 0)
        setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(file, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else {
            close(file)
            throw Failed(call: "connect")
        }
        return file
    }

    /// Sends a request. Passes all bytes received so far to the body each time that bytes arrive, until the body returns
    /// false. If the connection ends or the time is over before, passes them once more.
    func exchange(_ request: String, seconds: Int = 30, _ body: ([UInt8]) -> Bool) throws {
        let file = try connected(seconds: seconds)
        defer { close(file) }
        var left = Array(request.utf8)[...]
        while !left.isEmpty {
            let written = left.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
            guard written > 0 else { throw Failed(call: "write") }
            left = left.dropFirst(written)
        }
        var received: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        // A stream of events has no end.
        let end = Date() + Double(seconds)
        while Date() < end {
            let count = read(file, &piece, piece.count)
            guard count > 0 else { break }
            received += piece[..<count]
            if !body(received) { return }
        }
        _ = body(received)
    }
}
