internal import FetchIndexCLibrary
internal import FetchIndexEssentials
internal import FetchIndexPlatform
internal import FlyingSocks

/// An HTTP server on 127.0.0.1 for requests without bodies. It limits the length of a request, the time for receiving
/// it, and the number of connections.
///
/// FlyingSocks waits for the sockets. Its companion server FlyingFox isn't used: FlyingFox reads lines of any length
/// before a handler sees the request.
struct LoopbackServer: Sendable {
    private static let mostConnections = 512
    /// The number of descriptors that connections leave free. They are needed to open the store again after it was moved, to read files
    /// for reports, and for dropped connections that are not closed yet.
    static let reservedDescriptors = 16
    private static let mostClosing = 4
    /// The longest search of the page takes 18 KB when each of its characters is encoded.
    private static let mostHeadBytes = 32 << 10
    private static let pieceBytes = 4096
    /// The time limits for waiting for a request and receiving it, and for sending an answer or an event to a client
    /// that reads slowly.
    private static let (readTime, writeTime) = (Duration.seconds(60), Duration.seconds(30))
    /// The pauses in accepting connections: after an error, and while many connections are being closed.
    private static let (pause, closingPause) = (Duration.milliseconds(200), Duration.milliseconds(1))

    private let listener: Socket
    private let pool: any AsyncSocketPool = .make()
    let port: UInt16

    /// Listens on a port; 0 selects a free one.
    init(port wanted: UInt16) throws {
        listener = try Socket(domain: AF_INET)
        do {
            // Allows a port whose previous server has just ended.
            try listener.setValue(true, for: .localAddressReuse)
            try listener.bind(to: .inet(ip4: "127.0.0.1", port: wanted))
            try listener.setFlags(.nonBlocking)
            try listener.listen()
            guard case .ip4(_, let actual) = try listener.sockname() else { throw SocketError.unsupportedAddress }
            port = actual
        } catch {
            try? listener.close()
            throw error
        }
    }

    /// Answers requests until the task is cancelled. A connection ends after the answer to a request that isn't trusted.
    func run(
        trusting isTrusted: @escaping @Sendable (HTTPRequest) -> Bool,
        _ answer: @escaping @Sendable (HTTPRequest) async -> HTTPAnswer
    ) async throws {
        defer { try? listener.close() }
        try await pool.prepare()
        let free = Descriptors.free(upTo: Self.mostConnections + Self.reservedDescriptors)
        let connections = Connections(most: max(1, free - Self.reservedDescriptors))
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await pool.run() }
                group.addTask {
                    await accept(connections) { socket, number in
                        await serve(socket, as: number, of: connections, isTrusted, answer)
                    }
                }
                defer { group.cancelAll() }
                try await group.next()
            }
        } catch {
            // A pool throws `disconnected` if it is cancelled while it waits.
            try Task.checkCancellation()
            throw error
        }
    }

    private func accept(
        _ connections: Connections, _ serve: @escaping @Sendable (Socket, _ number: Int?) async -> Void
    ) async {
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                do {
                    if connections.closing > Self.mostClosing {
                        try await Task.sleep(for: Self.closingPause)
                        continue
                    }
                    let socket: Socket
                    do { socket = Socket(file: try listener.accept().file) } catch SocketError.blocked {
                        try await pool.suspendSocket(listener, untilReadyFor: .connection)
                        continue
                    }
                    let number = connections.admit(socket.file.rawValue)
                    group.addTask {
                        await serve(socket, number)
                        connections.close(number) { try? socket.close() }
                    }
                } catch {
                    // For example, the process has reached its limit of descriptors, or the client has gone.
                    try? await Task.sleep(for: Self.pause)
                }
            }
        }
    }

    /// Answers the requests of a connection. A connection without a number is refused.
    private func serve(
        _ socket: Socket, as number: Int?, of connections: Connections, _ isTrusted: (HTTPRequest) -> Bool,
        _ answer: (HTTPRequest) async -> HTTPAnswer
    ) async {
        do {
            try socket.setFlags(.nonBlocking)
            guard let number else { return try await send(.tooManyConnections, isLast: true, to: socket) }
            var received: [UInt8] = []
            while let head = try await head(&received, from: socket) {
                guard let request = HTTPRequest(head) else {
                    return try await send(.badRequest, isLast: true, to: socket)
                }
                let isKnown = isTrusted(request)
                if isKnown { connections.begin(number) }
                let isLast = request.isLast || !isKnown
                try await send(await answer(request), isLast: isLast, to: socket)
                if isLast { return }
                connections.pause(number)
            }
        } catch {
            // For example, the client has gone, or is too slow.
        }
    }

    /// Returns the head of the next request; nil at the end of the connection. Answers an overlong head with an error,
    /// and returns nil.
    private func head(_ received: inout [UInt8], from socket: Socket) async throws -> [UInt8]? {
        let end = ContinuousClock.now + Self.readTime
        var searched = 0
        while true {
            if let place = Self.emptyLine(in: received, from: searched) {
                let head = Array(received[..<place])
                received.removeFirst(place + 4)
                return head
            }
            if received.count > Self.mostHeadBytes {
                try await send(.tooLarge, isLast: true, to: socket)
                return nil
            }
            searched = max(0, received.count - 3)
            do {
                received += try socket.read(atMost: Self.pieceBytes)
            } catch SocketError.blocked {
                try await wait(for: socket, .read, until: end)
            } catch SocketError.disconnected {
                return nil
            }
        }
    }

    /// Returns the offset of the empty line that ends a head (CR LF CR LF).
    private static func emptyLine(in bytes: [UInt8], from start: Int) -> Int? {
        let last = bytes.count - 4
        return start > last
            ? nil
            : (start...last).first {
                bytes[$0] == 13 && bytes[$0 + 1] == 10 && bytes[$0 + 2] == 13 && bytes[$0 + 3] == 10
            }
    }

    private func send(_ answer: HTTPAnswer, isLast: Bool, to socket: Socket) async throws {
        try await write(answer.bytes(isLast: isLast), to: socket)
        guard case .events(let events) = answer.body else { return }
        for await event in events { try await write(event.bytes, to: socket) }
        throw SocketError.disconnected
    }

    private func write(_ bytes: [UInt8], to socket: Socket) async throws {
        let data = Data(bytes)
        var index = data.startIndex
        let end = ContinuousClock.now + Self.writeTime
        while index < data.endIndex {
            do { index = try socket.write(data, from: index) } catch SocketError.blocked {
                try await wait(for: socket, .write, until: end)
            }
        }
    }

    private func wait(for socket: Socket, _ events: Socket.Events, until end: ContinuousClock.Instant) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [pool] in try await pool.suspendSocket(socket, untilReadyFor: events) }
            group.addTask {
                try await Task.sleep(until: end, clock: .continuous)
                throw SocketError.disconnected
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}
