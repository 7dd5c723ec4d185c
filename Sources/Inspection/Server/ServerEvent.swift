internal import FetchIndexPlatform

/// A message of a stream of server-sent events. https://html.spec.whatwg.org/multipage/server-sent-events.html
struct ServerEvent: Sendable {
    let bytes: [UInt8]

    /// Keeps an idle connection open, and finds a closed one.
    static let keepAlive = ServerEvent(bytes: Array(":\n\n".utf8))

    private init(bytes: [UInt8]) { self.bytes = bytes }

    init(_ name: String, _ message: some Encodable) throws {
        // JSON has no line ends unless it is asked for them.
        bytes = Array("event: \(name)\ndata: ".utf8) + (try JSONEncoder().encode(message)) + Array("\n\n".utf8)
    }
}
