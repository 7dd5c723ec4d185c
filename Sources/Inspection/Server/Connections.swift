internal import Synchronization
internal import FetchIndexCLibrary

/// The open connections of a server, and their maximum number. If the server is full, a new connection replaces the
/// oldest connection that hasn't sent a trusted request; if all have, the oldest connection that waits for its next
/// request. So only connections that are being answered make the server refuse new ones.
///
///     admitted, unknown --begin--> answering --pause--> waiting --begin--> answering
///          |                                               |
///          +------------ dropped for a new one ------------+
final class Connections: Sendable {
    private enum Standing {
        /// Has not sent a trusted request.
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
        /// The number of dropped or refused connections whose descriptors are not closed yet.
        var closing = 0

        func oldest(_ standing: Standing) -> Int? { open.filter { $0.value.standing == standing }.keys.min() }
    }

    private let most: Int
    private let state = Mutex(State())

    init(most: Int) { self.most = most }

    /// The number of dropped or refused connections that still have a descriptor.
    var closing: Int { state.withLock { $0.closing } }

    /// Adds a connection and returns its number. Returns nil, a refusal, if the server is full and all connections are being answered.
    func admit(_ file: CInt) -> Int? {
        state.withLock { state in
            if state.open.count >= most {
                state.closing += 1
                guard let dropped = state.oldest(.unknown) ?? state.oldest(.waiting) else { return nil }
                // The dropped connection's task closes the descriptor when it notices the shutdown. If this method
                // closed it, its number could be reused while that task still uses it.
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

    /// Ends a connection; `number` is nil for a refused one. The body closes the connection's descriptor.
    func close(_ number: Int?, _ body: () -> Void) {
        state.withLock { state in
            body()
            if number.flatMap({ state.open.removeValue(forKey: $0) }) == nil { state.closing -= 1 }
        }
    }
}
