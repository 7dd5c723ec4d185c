internal import FlyingFox
internal import FlyingSocks
internal import Foundation

/// A message of a stream of server-sent events, as HTML's standard describes them.
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

/// The bytes of events as they arrive.
struct EventBytes: AsyncBufferedSequence {
    typealias Element = UInt8

    struct Iterator: AsyncBufferedIteratorProtocol {
        var events: AsyncStream<ServerEvent>.Iterator

        mutating func next() async throws -> UInt8? {
            preconditionFailure("Bodies are read in pieces.")
        }

        mutating func nextBuffer(suggested count: Int) async throws -> [UInt8]? { await events.next()?.bytes }
    }

    let events: AsyncStream<ServerEvent>

    func makeAsyncIterator() -> Iterator { Iterator(events: events.makeAsyncIterator()) }
}
