internal import Synchronization
internal import FetchIndexPlatform

/// The open connections of a server, at most so many. A new one takes the place of the oldest one that has not shown the token yet, or
/// else of the oldest one that waits for its next request: connections that say nothing shut nobody out.
///
///     admitted, unknown --begin--> answering --pause--> waiting --begin--> answering
///          |                                               |
///          +------------ dropped for a new one ------------+
final class Connections: Sendable {
    private enum Standing {
        /// Has not sent a request with the token.
        case unknown
        case answering
        /// Between two requests.
        case waiting
    }

    private struct Connection {
        let file: CInt
        var standing = Standing.unknown
    }

    private struct State {
        var open: [Int: Connection] = [:]
        var next = 0
        /// Those that were dropped or refused, and whose descriptors are not closed yet.
        var closing = 0

        func oldest(_ standing: Standing) -> Int? { open.filter { $0.value.standing == standing }.keys.min() }
    }

    private let most: Int
    private let state = Mutex(State())

    init(most: Int) { self.most = most }

    /// Connections that still have a descriptor, and are not counted any more.
    var closing: Int { state.withLock { $0.closing } }

    /// The number of a new connection; nil when all others are being answered, so that it is one too many.
    func admit(_ file: CInt) -> Int? {
        state.withLock { state in
            if state.open.count >= most {
                state.closing += 1
                guard let dropped = state.oldest(.unknown) ?? state.oldest(.waiting) else { return nil }
                // Its task reads the end of the connection, and closes the descriptor: until then no other file has it.
                if let connection = state.open.removeValue(forKey: dropped) {
                    shutdown(connection.file, CInt(SHUT_RDWR))
                }
            }
            defer { state.next += 1 }
            state.open[state.next] = Connection(file: file)
            return state.next
        }
    }

    func begin(_ number: Int) { state.withLock { $0.open[number]?.standing = .answering } }

    func pause(_ number: Int) { state.withLock { $0.open[number]?.standing = .waiting } }

    /// Ends a connection, or one that was refused, with the call that closes its descriptor.
    func close(_ number: Int?, _ body: () -> Void) {
        state.withLock { state in
            body()
            if number.flatMap({ state.open.removeValue(forKey: $0) }) == nil { state.closing -= 1 }
        }
    }
}
