internal import FlyingFox
internal import FlyingSocks
internal import SystemBasics

/// Waits for sockets, but not for ever, and sends what is written at once.
///
/// The server writes the head and the body of an answer one after the other: by default the system would hold the body back until
/// the head is acknowledged, some 40 ms later (Nagle's algorithm, RFC 896). And it waits for each client without limit.
struct PromptSocketPool: AsyncSocketPool {
    private static let readLimit = Duration.seconds(60)
    private static let writeLimit = Duration.seconds(30)

    private let base: any AsyncSocketPool = HTTPServer.defaultPool()

    func prepare() async throws { try await base.prepare() }

    func run() async throws { try await base.run() }

    func suspendSocket(_ socket: Socket, untilReadyFor events: Socket.Events) async throws {
        if (try? socket.getValue(for: BoolSocketOption(name: SO_ACCEPTCONN))) == true {
            // The sockets that it accepts inherit the option.
            try? socket.setValue(true, for: BoolSocketOption(level: CInt(IPPROTO_TCP), name: TCP_NODELAY))
            return try await base.suspendSocket(socket, untilReadyFor: events)
        }
        let limit = events.contains(.write) ? Self.writeLimit : Self.readLimit
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await base.suspendSocket(socket, untilReadyFor: events) }
            group.addTask {
                try await Task.sleep(for: limit)
                throw SocketError.disconnected
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}
