internal import FlyingFox
internal import FlyingSocks
internal import SystemBasics

/// Sends what is written at once. The server writes the head and the body of an answer one after the other: by default the system
/// would hold the body back until the head is acknowledged, some 40 ms later (Nagle's algorithm, RFC 896).
struct PromptSocketPool: AsyncSocketPool {
    private let base: any AsyncSocketPool = HTTPServer.defaultPool()

    func prepare() async throws { try await base.prepare() }

    func run() async throws { try await base.run() }

    func suspendSocket(_ socket: Socket, untilReadyFor events: Socket.Events) async throws {
        // The first one to wait is the one that listens; those that it accepts inherit the option.
        try? socket.setValue(true, for: BoolSocketOption(level: CInt(IPPROTO_TCP), name: TCP_NODELAY))
        try await base.suspendSocket(socket, untilReadyFor: events)
    }
}
