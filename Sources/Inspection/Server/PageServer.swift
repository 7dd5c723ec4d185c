internal import FetchIndexPlatform
internal import FlyingSocks

/// Serves the live page of a store on the loopback interface to clients that know its address.
package enum PageServer {
    /// The port can't be used, for example because another program uses it.
    package struct CannotListen: Error, CustomStringConvertible {
        package let description: String
    }

    /// The number of free descriptors that a server needs: for the store, the socket and its pool, the reserve, and a few connections.
    package static let leastDescriptors = 8 + LoopbackServer.reservedDescriptors + 4

    /// Serves a store until the task is cancelled. Port 0 selects a free one. Throws, among others, `StoreError`,
    /// `CannotListen` and the closure's errors.
    package static func run(
        storeAt path: String, port: UInt16, whenListening: (_ address: String) throws -> Void
    ) async throws {
        let store = try BrowsedStore(at: path)
        let server: LoopbackServer
        do { server = try LoopbackServer(port: port) } catch { throw cannotListen(on: port, error) }
        let gate = PageGate(port: server.port)
        let handler = PageHandler(store: store, gate: gate)
        // The socket listens already: requests wait until they are accepted.
        try whenListening("http://127.0.0.1:\(server.port)/\(gate.token)/")
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await store.run() }
            group.addTask { try await server.run(trusting: { gate.path(of: $0) != nil }) { await handler.answer($0) } }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private static func cannotListen(on port: UInt16, _ error: any Error) -> CannotListen {
        var reason = "\(error)"
        if case .failed(_, let number, _) = error as? SocketError { reason = SystemError(rawValue: number).description }
        return CannotListen(
            description:
                "port \(port) of 127.0.0.1 cannot be used: \(reason); choose another one with --port, or 0 for a free one"
        )
    }
}
