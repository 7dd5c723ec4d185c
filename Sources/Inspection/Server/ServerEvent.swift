internal import FetchIndexEssentials

/// A message of a stream of server-sent events. https://html.spec.whatwg.org/multipage/server-sent-events.html
struct ServerEvent: Sendable {
    let bytes: [UInt8]

    /// A comment without content. It keeps an idle connection open, and lets the server notice that a client has gone.
    static let keepAlive = ServerEvent(bytes: Array(":\n\n".utf8))

    private init(bytes: [UInt8]) { self.bytes = bytes }

    init(_ name: String, _ message: some Encodable) throws {
        // The encoder writes no line ends; one would end the line of the data.
        bytes = Array("event: \(name)\ndata: ".utf8) + (try JSONEncoder().encode(message)) + Array("\n\n".utf8)
    }
}
